"""Find compiled objects whose uncompiled originals run in their place: a bound method stored before
the compile; a compiled module that is only assigned to a loop variable; a `forward` that is called
directly; another method than `forward`.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any
from unittest import mock

from tclab.explain.load import code_at
from tclab.text import user_lines


@dataclass(frozen=True)
class CompileCall:
    """One call of torch.compile or `Module.compile`. `result` is the compiled object; after
    `Module.compile` it is the module itself. `place` is the user's line that made the call,
    ``my_model.py:12``; '' if it is not known.
    """

    original: Any
    result: Any
    place: str = ""

    @property
    def name(self) -> str:
        """The class name of a module, or the qualified name of a function."""
        return str(getattr(self.original, "__qualname__", type(self.original).__name__))

    @property
    def is_in_place(self) -> bool:
        return self.original is self.result

    def runs_in(self, frame: FrameType) -> bool:
        """Return whether the frame runs the uncompiled original."""
        function = getattr(self.original, "forward", self.original)
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if frame.f_code is not code:
            return False
        owner = getattr(function, "__self__", None)
        return owner is None or frame.f_locals.get("self") is owner

    def runs_other_method_in(self, frame: FrameType) -> bool:
        """Return whether the frame runs a method of the user's on the original, a module, which is
        not its `forward`.
        """
        code = frame.f_code
        return (
            hasattr(self.original, "forward")
            and frame.f_locals.get("self") is self.original
            and getattr(type(self.original), code.co_name, None) is not None
            and user_lines.is_user_file(code.co_filename)
        )


@dataclass(frozen=True)
class RunningOriginal:
    """What runs uncompiled, and the user's line that calls it. `method` is the method's name if it
    is not what was compiled, such as ``Flow.inverse``.
    """

    compiled: CompileCall
    place: str
    method: str = ""


@contextmanager
def recording() -> Iterator[list[CompileCall]]:
    """Yield a list to which each call of torch.compile and Module.compile in the block is added."""
    import torch

    calls: list[CompileCall] = []
    module = torch.nn.Module
    with (
        mock.patch.object(torch, "compile", _record(torch.compile, calls)),
        mock.patch.object(module, "compile", _record(module.compile, calls)),
    ):
        yield calls


def _record(compile_: Callable[..., Any], calls: list[CompileCall]) -> Callable[..., Any]:
    @functools.wraps(compile_)
    def compile_and_record(*args: Any, **options: Any) -> Any:
        caller = sys._getframe(1)
        result = compile_(*args, **options)
        original = args[0] if args else options.get("model")
        if original is not None and not caller.f_code.co_filename.startswith(_torch_folder()):
            place = _find_place(caller).partition(" (")[0]
            calls.append(CompileCall(original, original if result is None else result, place))
        return result

    return compile_and_record


def _torch_folder() -> str:
    import torch

    return str(torch.__file__).removesuffix("__init__.py")


def _find_place(frame: FrameType | None) -> str:
    """Return the first line of the user's code from a frame outwards; '' if there is none."""
    while frame is not None:
        file = frame.f_code.co_filename
        if user_lines.is_user_file(file) and not file.startswith("<"):
            return code_at(file, frame.f_lineno)
        frame = frame.f_back
    return ""


def find_running_original(
    call: Callable[[], object], compiled: Iterable[CompileCall]
) -> RunningOriginal | None:
    """Make a call and return the first compiled object whose uncompiled original runs in it; if
    there is none, the first of which another method runs; None if there is none either.
    """
    every, found, others = list(compiled), list[RunningOriginal](), list[RunningOriginal]()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or found:
            return
        for each in every:
            if each.runs_in(frame) and (place := _find_place(frame.f_back)):
                found.append(RunningOriginal(each, place))
                return
            if not others and each.runs_other_method_in(frame):
                method = f"{each.name}.{frame.f_code.co_name}"
                others.append(RunningOriginal(each, _find_place(frame.f_back), method))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        with contextlib.suppress(Exception):
            call()
    finally:
        sys.setprofile(before)
    return next(iter([*found, *others]), None)
