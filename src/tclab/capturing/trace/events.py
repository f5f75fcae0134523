"""Define `Trace`: PyTorch's messages about a compile, in order, as `Event`s."""

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
#: PyTorch's own numbers for a frame and for its compile; (None, None) outside of a compile.
CompileIds = tuple[int | None, int | None]

# Names that Dynamo makes unique with a process-wide counter. The last sample needs
# Python 3.12 or later.
#               2 LOAD_GLOBAL             15 (NULL + __compiled_fn_21)
#             572 LOAD_GLOBAL             26 (__resume_at_80_23)
#             272 STORE_FAST               5 (___context_manager_0_22)
#   LOAD_CONST  5 (__comprehension_many_at_7_2)
_COUNTED_NAME = re.compile(
    r"\b(__compiled_fn|__builtins_dict__|__resume_at_\d+|___context_manager_\d+"
    r"|__comprehension_\w+?_at_\d+)_(\d+)(?=\b|_[0-9a-f]{8}_)"
)
# Names that Dynamo makes unique with an id() and the number of the compile:
#             162 LOAD_GLOBAL              8 (__subclass_Marked_94509030898416_c15)
_ID_SUFFIX = re.compile(r"(?<=\w)_\d{9,}_c\d+(?:_\d+)?\b")
# 11/0: tensor 'x' size mismatch at index 0. expected 8, actual 16
_COMPILE_ID = re.compile(r"^(\d+)/(\d+):", re.MULTILINE)


class EventName(str, Generic[D_co]):
    """An event's name. Events with this name have data of type `D_co`."""

    __slots__ = ()


@dataclass(frozen=True)
class Event(Generic[D_co]):
    """One message from PyTorch, or one note of tclab's.

    `compile_id` is ``frame/compile``, or an empty string outside of a compile. The module
    `tclab.capturing.trace.names` gives the type of `data` for each event name; of all other
    events only `payload` is read.
    """

    name: str
    data: D_co
    payload: str = ""
    compile_id: str = ""
    attempt: int = 0

    @property
    def frame(self) -> str:
        """The number of the frame as text. It is the same for all compiles of one code object."""
        return self.compile_id.split("/")[0]


@dataclass
class Trace:
    """The events of a capture. Frames are numbered from 0 in the order in which they occur, so
    that a compile id does not depend on what the process compiled before.
    """

    events: list[Event[Any]] = field(default_factory=list)
    # PyTorch's number of a frame → the frame's number in this trace
    frames: dict[int, int] = field(default_factory=dict)

    @overload
    def select(self, name: EventName[D], /) -> list[Event[D]]: ...
    @overload
    def select(self, *names: str) -> list[Event[Any]]: ...
    def select(self, *names: str) -> list[Event[Any]]:
        """Return the events that have one of these names, in order."""
        return [e for e in self.events if e.name in names]

    @overload
    def add(
        self, name: EventName[D], data: D, payload: str, ids: CompileIds, attempt: int = 0
    ) -> None: ...
    @overload
    def add(
        self, name: str, data: object, payload: str, ids: CompileIds, attempt: int = 0
    ) -> None: ...
    def add(self, name: str, data: object, payload: str, ids: CompileIds, attempt: int = 0) -> None:
        """Append one event; `ids` are PyTorch's own frame and compile numbers."""
        self.events.append(Event(name, data, payload, self._compile_id(*ids), attempt))

    @contextmanager
    def divert(self) -> Iterator[Trace]:
        """Yield another trace that gets all events added during the block. The other trace has the
        same frame numbers.
        """
        events, self.events = self.events, []
        try:
            yield Trace(self.events, self.frames)
        finally:
            self.events = events

    def renumber(self, text: str) -> str:
        """Replace PyTorch's compile ids at the start of each line by the ids of this trace."""

        def replace_number(match: re.Match[str]) -> str:
            return self._compile_id(int(match[1]), int(match[2])) + ":"

        return _COMPILE_ID.sub(replace_number, text)

    def stabilize(self, text: str) -> str:
        """Renumber the names in `text` that Dynamo numbers process-wide, so that each trace numbers
        them from 0. Also remove each id() from a name.
        """
        text = _ID_SUFFIX.sub("_…", text)
        return _COUNTED_NAME.sub(
            lambda m: f"{m[1]}_{self._counts[m[1]].index(int(m[2])) + 1}", text
        )

    @cached_property
    def _counts(self) -> dict[str, list[int]]:
        """Map the prefix of each numbered name to the numbers that occur in this trace, in
        ascending order.
        """
        seen: dict[str, set[int]] = {}
        for event in self.events:
            for prefix, number in _COUNTED_NAME.findall(_names_in_event(event)):
                seen.setdefault(prefix, set()).add(int(number))
        return {prefix: sorted(numbers) for prefix, numbers in seen.items()}

    def _compile_id(self, frame: int | None, number: int | None) -> str:
        if frame is None or number is None:
            return ""
        return f"{self.frames.setdefault(frame, len(self.frames))}/{number}"


def _names_in_event(event: Event[Any]) -> str:
    if event.name != "bytecode":
        return event.payload
    return " ".join(name for code in event.data for name in _names_in_code(code))


def _names_in_code(code: CodeType) -> Iterator[str]:
    """Yield every name that a disassembly of `code` and its inner functions can show."""
    yield code.co_name
    for names in (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars):
        yield from names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in_code(constant)
        else:
            yield repr(constant)
