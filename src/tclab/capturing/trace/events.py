"""What PyTorch said of a compile, in order, as `Event`s of a `Trace`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from types import CodeType
from typing import Any, Generic, TypeVar, overload

D = TypeVar("D")
D_co = TypeVar("D_co", covariant=True)
#: PyTorch's own numbers of a frame and of its compile; None, None outside of a compile.
Ids = tuple[int | None, int | None]

# Names made unique by a counter of the process; the last only from Python 3.12 on.
#               2 LOAD_GLOBAL             15 (NULL + __compiled_fn_21)
#             572 LOAD_GLOBAL             26 (__resume_at_80_23)
#             272 STORE_FAST               5 (___context_manager_0_22)
#   LOAD_CONST  5 (__comprehension_many_at_7_2)
_COUNTED = re.compile(
    r"\b(__compiled_fn|__builtins_dict__|__resume_at_\d+|___context_manager_\d+"
    r"|__comprehension_\w+?_at_\d+)_(\d+)(?=\b|_[0-9a-f]{8}_)"
)
# and by id(), with the number of the compile:
#             162 LOAD_GLOBAL              8 (__subclass_Marked_94509030898416_c15)
_BY_ID = re.compile(r"(?<=\w)_\d{9,}_c\d+(?:_\d+)?\b")
# 11/0: tensor 'x' size mismatch at index 0. expected 8, actual 16
_COMPILE_ID = re.compile(r"^(\d+)/(\d+):", re.MULTILINE)


class EventName(str, Generic[D_co]):
    """The name of events whose data is a `D_co`."""

    __slots__ = ()


@dataclass(frozen=True)
class Event(Generic[D_co]):
    """One thing PyTorch said. `compile_id` is ``frame/compile``, '' outside of a compile.

    What `data` holds is said with the names, in `tclab.capturing.trace.names`; of events that
    have none there, only `payload` is read.
    """

    name: str
    data: D_co
    payload: str = ""
    compile_id: str = ""
    attempt: int = 0

    @property
    def frame(self) -> str:
        """The frame's number as text: what recompiles of one code object share."""
        return self.compile_id.split("/")[0]


@dataclass
class Trace:
    """The events of a capture. Frames are numbered from 0 in the order they are met, so that
    an id does not depend on what the process compiled before.
    """

    events: list[Event[Any]] = field(default_factory=list)
    frames: dict[int, int] = field(default_factory=dict)

    @overload
    def named(self, name: EventName[D], /) -> list[Event[D]]: ...
    @overload
    def named(self, *names: str) -> list[Event[Any]]: ...
    def named(self, *names: str) -> list[Event[Any]]:
        """The events with one of these names, in order."""
        return [e for e in self.events if e.name in names]

    @overload
    def add(
        self, name: EventName[D], data: D, payload: str, ids: Ids, attempt: int = 0
    ) -> None: ...
    @overload
    def add(self, name: str, data: object, payload: str, ids: Ids, attempt: int = 0) -> None: ...
    def add(self, name: str, data: object, payload: str, ids: Ids, attempt: int = 0) -> None:
        """Append one event; `ids` are PyTorch's own frame and compile numbers."""
        self.events.append(Event(name, data, payload, self._compile_id(*ids), attempt))

    @contextmanager
    def aside(self) -> Iterator[Trace]:
        """For the length of the block, what is added goes to another trace, which is yielded; it
        numbers frames as this one does.
        """
        events, self.events = self.events, []
        try:
            yield Trace(self.events, self.frames)
        finally:
            self.events = events

    def renumber(self, text: str) -> str:
        """PyTorch's compile ids at the start of a line, as this trace numbers them."""

        def own(match: re.Match[str]) -> str:
            return self._compile_id(int(match[1]), int(match[2])) + ":"

        return _COMPILE_ID.sub(own, text)

    def stable(self, text: str) -> str:
        """`text` with names that Dynamo counts through the whole process counted through this
        trace instead, and without id() in names.
        """
        text = _BY_ID.sub("_…", text)
        return _COUNTED.sub(lambda m: f"{m[1]}_{self._counts[m[1]].index(int(m[2])) + 1}", text)

    @cached_property
    def _counts(self) -> dict[str, list[int]]:
        """Each counted prefix → the numbers seen with it, in order."""
        seen: dict[str, set[int]] = {}
        for event in self.events:
            for prefix, number in _COUNTED.findall(_names_in(event)):
                seen.setdefault(prefix, set()).add(int(number))
        return {prefix: sorted(numbers) for prefix, numbers in seen.items()}

    def _compile_id(self, frame: int | None, number: int | None) -> str:
        if frame is None or number is None:
            return ""
        return f"{self.frames.setdefault(frame, len(self.frames))}/{number}"


def _names_in(event: Event[Any]) -> str:
    if event.name != "bytecode":
        return event.payload
    return " ".join(name for code in event.data for name in _names_of(code))


def _names_of(code: CodeType) -> Iterator[str]:
    """Every name that a disassembly of `code` can show, those of inner functions too."""
    yield code.co_name
    for names in (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars):
        yield from names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of(constant)
        elif isinstance(constant, (str, tuple)):
            yield str(constant)
