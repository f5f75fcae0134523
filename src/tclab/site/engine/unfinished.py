"""Delete libraries in the cache that a later run must not load: unfinished ones, which a compiler
left when its run was killed, and those that another compiler made.

g++ writes a library in place, and PyTorch loads any file with the name that it looks for. That name
depends on the compiler's name, and not on its version.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from tclab.system.inductor_cache import is_complete


def remove(cache: Path) -> None:
    """Delete the incomplete libraries below `cache`, except those that a process has open."""
    for path in cache.rglob("*.so"):
        with contextlib.suppress(OSError):
            if not is_complete(path) and not _is_open(path):
                path.unlink()


def remove_unless_compiled_by(compiler: str, cache: Path) -> None:
    """Delete the objects that Inductor compiled, unless this compiler made them. If `compiler` is
    '', all objects are kept.
    """
    note = cache / "compiler"
    with contextlib.suppress(OSError):
        if compiler and (not note.exists() or note.read_text(encoding="utf-8") != compiler):
            shutil.rmtree(cache / "inductor", ignore_errors=True)
            note.write_text(compiler, encoding="utf-8")


def _is_open(path: Path) -> bool:
    """Return whether a process has the file open. On a system without /proc, return False."""
    wanted = os.path.realpath(path)
    for each in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(each) == wanted:
                return True
    return False
