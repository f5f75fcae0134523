"""Which files a process imported: what a run rests on, as a compiler's depfile says it.

A process that belongs to a run (``TCLAB_JOB`` names the run's folder) leaves a list of the files
of its modules there, in ``imports/<pid>.json``: the snippet's own process, and each Python that it
starts and that imports tclab. A recorded file that tclab itself asked for is in it, too.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

_TCLAB = os.path.join(os.path.dirname(__file__), "")
_STANDARD = os.path.join(os.path.dirname(os.__file__), "")
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


_recorded: set[str] = set()


def recorded_file(path: Path) -> None:
    """What this process does hangs on a file below ``records/``, or on there being none."""
    _recorded.add(os.path.realpath(path))


def report_at_exit() -> None:
    """Have this process leave its list when it ends, if it belongs to a run."""
    if folder := os.environ.get("TCLAB_JOB"):
        atexit.register(_report, Path(folder))


def _report(folder: Path) -> None:
    with contextlib.suppress(OSError):  # the run has ended, and its folder with it
        report(folder)


def report(folder: Path) -> None:
    """Leave this process's list in a run's folder; OSError where that cannot be."""
    lists = folder / "imports"
    lists.mkdir(exist_ok=True)
    (lists / f"{os.getpid()}.json").write_text(json.dumps(sorted(_files())), encoding="utf-8")


def _files() -> set[str]:
    """The files of all imported modules but ``__main__``, which is the snippet itself, and but
    installed libraries: for them, provenance has the versions that count.
    """
    modules = [module for name, module in list(sys.modules.items()) if name != "__main__"]
    files = (getattr(module, "__file__", None) for module in modules)
    own = {os.path.realpath(file) for file in files if isinstance(file, str) and _counts(file)}
    return own | _recorded


def _counts(file: str) -> bool:
    library = file.startswith(_STANDARD) or any(folder in file for folder in _INSTALLED)
    return file.startswith(_TCLAB) or not library


def reported(folder: Path) -> set[Path]:
    """The files that the processes of a run imported. A list that was cut short counts not."""
    return {Path(file) for path in sorted(folder.glob("imports/*.json")) for file in _read(path)}


def _read(path: Path) -> Iterator[str]:
    with contextlib.suppress(OSError, ValueError):
        yield from json.loads(path.read_text(encoding="utf-8"))
