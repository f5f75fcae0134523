"""Find the lines whose tensors a run holds when it holds the most memory."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from tclab.capturing.torch_private import compiler
from tclab.capturing.torch_private.private import Private
from tclab.model import SourceLine
from tclab.text.scrub import scrub

NAMES = (
    Private("torch.utils._python_dispatch", "TorchDispatchMode", "every operator of a run"),
    Private("torch.multiprocessing.reductions", "StorageWeakRef", "whether a storage is held"),
)


class _Holder(TorchDispatchMode):
    """Notes the storages that operators make, each with its bytes and the user's line."""

    def __init__(self, is_user_file: Callable[[str], bool]) -> None:
        super().__init__()
        self._is_user_file = is_user_file
        self._held: dict[int, tuple[Any, int, SourceLine | None]] = {}
        self.most, self.lines = 0, Counter[SourceLine | None]()

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        known = {t.untyped_storage()._cdata for t in _tensors((args, kwargs))}
        result = func(*args, **(kwargs or {}))
        for tensor in _tensors(result):
            storage = tensor.untyped_storage()
            if storage._cdata not in known:
                line = self._find_line()
                self._held[storage._cdata] = (StorageWeakRef(storage), storage.nbytes(), line)
        self._held = {key: each for key, each in self._held.items() if not each[0].expired()}
        total = sum(size for _, size, _ in self._held.values())
        if total > self.most:
            self.most, self.lines = total, Counter()
            for _, size, line in self._held.values():
                self.lines[line] += size
        return result

    def _find_line(self) -> SourceLine | None:
        """Return the user's line that called the operator; None below a backward."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if self._is_user_file(frame.f_code.co_filename):
                return SourceLine(scrub(frame.f_code.co_filename), frame.f_lineno)
            frame = frame.f_back
        return None


def _tensors(value: object) -> list[torch.Tensor]:
    return [each for each in compiler.nested_leaves(value) if isinstance(each, torch.Tensor)]


def find_largest_lines(
    run: Callable[[], object], most: int, is_user_file: Callable[[str], bool]
) -> list[tuple[SourceLine, int]]:
    """Run without the compiler. Return the user's lines whose tensors held the most bytes when
    all tensors that the run made held the most: at most this many, the largest first.
    """
    with _Holder(is_user_file) as holder:
        run()
    return [(line, size) for line, size in holder.lines.most_common() if line][:most]
