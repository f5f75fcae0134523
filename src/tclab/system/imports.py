"""List the files that a process imported. They are the dependencies of a run, like those in a
compiler's depfile.

Each process of a run (``TCLAB_JOB`` names the run's folder) writes the files of its modules to
``imports/<pid>.json`` there: the snippet's own process, and each Python that it starts and that
imports tclab. Recorded files that tclab itself looked up are listed, too.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tclab.system import opened_files

_TCLAB = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_STANDARD_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
_INSTALL_FOLDERS = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


_recorded_files: set[str] = set()


def note_recorded_file(path: Path) -> None:
    """Add a file below ``records/`` to the list. A missing file is added, too, because the run
    depends on its absence.
    """
    _recorded_files.add(os.path.realpath(path))


def report_at_exit() -> None:
    """Register the list to be written when this process ends, if it belongs to a run; note the
    files that it reads from now on.
    """
    if folder := os.environ.get("TCLAB_JOB"):
        opened_files.watch(Path(folder))
        atexit.register(_try_write_import_list, Path(folder))


def _try_write_import_list(folder: Path) -> None:
    with contextlib.suppress(OSError):  # the run has ended, and its folder is gone
        write_import_list(folder)


def write_import_list(folder: Path) -> None:
    """Write this process's list into a run's folder. Raises OSError if that fails."""
    lists = folder / "imports"
    lists.mkdir(exist_ok=True)
    (lists / f"{os.getpid()}.json").write_text(
        json.dumps(sorted(_tracked_files())), encoding="utf-8"
    )


def _tracked_files() -> set[str]:
    """Return the files of all imported modules except ``__main__``, which is the snippet itself,
    and the standard library. An installed package is represented by its first module.
    """
    modules = [(name, module) for name, module in list(sys.modules.items()) if name != "__main__"]
    files = ((name, getattr(module, "__file__", None)) for name, module in modules)
    own = {os.path.realpath(f) for name, f in files if isinstance(f, str) and _is_tracked(name, f)}
    return own | _recorded_files


def _is_tracked(name: str, file: str) -> bool:
    if file.startswith(_TCLAB):
        return True
    if is_installed(file):
        return "." not in name
    return not file.startswith(_STANDARD_LIBRARY)


def is_installed(file: str) -> bool:
    """Return whether a module's file belongs to an installed package."""
    return any(folder in file for folder in _INSTALL_FOLDERS)


def read_import_lists(folder: Path) -> set[Path]:
    """Return the files that the processes of a run imported; an incomplete list is ignored."""
    return {
        Path(file) for path in sorted(folder.glob("imports/*.json")) for file in _read_list(path)
    }


def _read_list(path: Path) -> Iterator[str]:
    with contextlib.suppress(OSError, ValueError):
        yield from json.loads(path.read_text(encoding="utf-8"))
