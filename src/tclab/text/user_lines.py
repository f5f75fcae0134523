"""Select the user's lines, without those of PyTorch, Triton, Python or tclab.

A file is compared with the folders of these four, so a user's folder called tclab, or a user's
installed package, counts as the user's. Artifacts name a file without its folder
(`tclab.text.scrub`): then the file is recognised by the rest of its path.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

_COMPILER_PACKAGES = ("torch", "triton")
_TCLAB_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
#: The functions of benchmarks and target checks, which count as a user's functions.
_CATALOG_FOLDER = os.path.join(_TCLAB_FOLDER, "workshop", "catalog", "")
_PYTHON_FOLDER = os.path.dirname(os.__file__) + os.sep
_PACKAGES_FOLDER = re.compile(r"[/\\](?:site|dist)-packages[/\\]")  # a folder below Python's own
# /usr/lib/python3.12/contextlib.py
_LIBRARY_FOLDER = re.compile(r"[/\\]lib(?:64)?[/\\]python3\.\d+[/\\]")
# torch/nn/modules/linear.py, python3.11/contextlib.py, <frozen importlib._bootstrap>
_LIBRARY_NAME = re.compile(rf"^(?:(?:{'|'.join(_COMPILER_PACKAGES)}|python3\.\d+)/|<frozen )")


def is_user_file(file: str) -> bool:
    """Return whether a file, named by Python or by an artifact, is the user's.

    Code without a file (``<stdin>``, a notebook's cell, exec) is the user's.
    """
    if not os.path.isabs(file):
        return not _LIBRARY_NAME.match(file) and not _is_tclab_file(file)
    if file.startswith((*_compiler_folders(), _TCLAB_FOLDER)):
        return file.startswith(_CATALOG_FOLDER)
    return not file.startswith(_PYTHON_FOLDER) or bool(
        _PACKAGES_FOLDER.search(file, len(_PYTHON_FOLDER) - 1)
    )


def is_users_class(cls: type) -> bool:
    """Return whether this class is defined in the user's code."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return file is not None and is_user_file(file)


def is_installed(file: str) -> bool:
    """Return whether a file lies among installed packages, PyTorch among them."""
    return bool(_PACKAGES_FOLDER.search(file))


def is_library_file(file: str) -> bool:
    """Return whether a file name, from this or another machine, belongs to Python's library or to
    an installed package.
    """
    return bool(_LIBRARY_FOLDER.search(file) or _LIBRARY_NAME.match(file)) or is_installed(file)


def select_user_lines(lines: Iterable[T], file: Callable[[T], str]) -> list[T]:
    """Return the user's lines among these, in order; `file` returns a line's file."""
    return [line for line in lines if is_user_file(file(line))]


def drop_callers(lines: Iterable[T], file: Callable[[T], str]) -> list[T]:
    """Return the part of a stack that starts with the line that tclab called. The dropped lines
    above this line are tclab's own and those of its callers, such as the library of the command
    line. Return a stack without a line of tclab unchanged.
    """
    lines = list(lines)
    own = [n for n, line in enumerate(lines, 1) if _is_tclab_file(file(line))]
    return lines[own[-1] :] if own else lines


def select_user_lines_or_all(lines: Iterable[T], file: Callable[[T], str]) -> list[T]:
    """Return the user's lines, or all lines if there are none because only PyTorch's own code
    runs.
    """
    lines = list(lines)
    return select_user_lines(lines, file) or lines


def _is_tclab_file(file: str) -> bool:
    """Return whether a file exists in tclab's own folder, outside its catalogue."""
    file = os.path.normpath(os.path.join(_TCLAB_FOLDER, "..", file))
    in_tclab = file.startswith(_TCLAB_FOLDER) and not file.startswith(_CATALOG_FOLDER)
    return in_tclab and os.path.isfile(file)


@lru_cache(maxsize=1)
def _compiler_folders() -> tuple[str, ...]:
    """Return the folders of PyTorch and Triton, if installed, without importing them."""
    specs = (importlib.util.find_spec(name) for name in _COMPILER_PACKAGES)
    return tuple(os.path.dirname(spec.origin) + os.sep for spec in specs if spec and spec.origin)
