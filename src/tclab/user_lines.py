"""Which lines are the user's: not PyTorch's or Triton's, not Python's, not tclab's own.

A file is compared with the folders that these lie in, so a user's folder that is called tclab,
or a package of the user's among the installed ones, is the user's. A file as artifacts name it
has lost its place (`tclab.scrub`) and is told by the name it was left with.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

_COMPILER = ("torch", "triton")
_TCLAB = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: The functions that are timed and that targets are verified on: such as users write.
_CATALOG = os.path.join(_TCLAB, "catalog", "")
_PYTHON = os.path.dirname(os.__file__) + os.sep
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]")  # below Python's own folder
# torch/nn/modules/linear.py, python3.11/contextlib.py, <frozen importlib._bootstrap>
_NAMED = re.compile(rf"^(?:(?:{'|'.join(_COMPILER)}|python3\.\d+)/|<frozen )")


def is_users(file: str) -> bool:
    """Whether a file, as Python names it or as artifacts do, is the user's.

    Code without a file (``<stdin>``, a cell, what exec was given) is.
    """
    if not os.path.isabs(file):
        return not _NAMED.match(file) and not _is_tclabs(os.path.join(_TCLAB, "..", file))
    if file.startswith((*_folders(), _TCLAB)):
        return file.startswith(_CATALOG)
    return not file.startswith(_PYTHON) or bool(_INSTALLED.search(file, len(_PYTHON) - 1))


def users(lines: Iterable[T], file: Callable[[T], str]) -> list[T]:
    """The user's of these lines, in order; `file` says which file a line is in."""
    return [line for line in lines if is_users(file(line))]


def users_or_all(lines: Iterable[T], file: Callable[[T], str]) -> list[T]:
    """The user's of these lines; all where none is, as in a module of PyTorch's run alone."""
    lines = list(lines)
    return users(lines, file) or lines


def _is_tclabs(file: str) -> bool:
    """Whether a file is there in tclab's own folder, and not of its catalogue."""
    file = os.path.normpath(file)
    ours = file.startswith(_TCLAB) and not file.startswith(_CATALOG)
    return ours and os.path.isfile(file)


@lru_cache(maxsize=1)
def _folders() -> tuple[str, ...]:
    """Where PyTorch and Triton lie, as far as they are there; neither is imported."""
    specs = (importlib.util.find_spec(name) for name in _COMPILER)
    return tuple(os.path.dirname(spec.origin) + os.sep for spec in specs if spec and spec.origin)
