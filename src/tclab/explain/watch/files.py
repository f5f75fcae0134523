"""Which files an explanation rests on, and whether one was saved since."""

from __future__ import annotations

import os
import sys
import sysconfig
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tclab.explain.load import causes
from tclab.text.scrub import scrub

#: Seconds between two looks, and how long a file must stay as it is before it counts as saved:
#: an editor may write it in two steps.
PAUSE, QUIET = 0.25, 0.15

Stamp = tuple[object, ...]


def stamp(path: str) -> Stamp:
    """What changes when a file is saved; of a folder (which ends in a slash) the names of its
    Python files; empty for what is not there.
    """
    try:
        if path.endswith(os.sep):
            return tuple(sorted(name for name in os.listdir(path) if name.endswith(".py")))
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino


@dataclass
class Watched:
    """Files and how they were when an attempt began."""

    stamps: dict[str, Stamp] = field(default_factory=dict)

    def add(self, paths: Iterable[str], since: float) -> None:
        """Watch these, too. One that was saved after `since` (seconds of the clock), when the
        attempt that read it had begun, counts as changed.
        """
        for path in paths:
            if path not in self.stamps:
                late = not path.endswith(os.sep) and _saved(path) > since
                self.stamps[path] = () if late else stamp(path)

    def keep(self, paths: Iterable[str]) -> None:
        """Watch no others."""
        self.stamps = {path: self.stamps[path] for path in paths}

    def changed(self) -> list[str]:
        """Those that are not as they were; from now on they count as they are."""
        different = self._different()
        while different:
            time.sleep(QUIET)
            before, different = different, self._different()
            if different == before:
                self.stamps |= different
                break
        return list(different)

    def _different(self) -> dict[str, Stamp]:
        """Path → stamp of each file that is not as it was."""
        now = ((path, stamp(path)) for path in self.stamps)
        return {path: new for path, new in now if new != self.stamps[path]}

    def wait(self) -> list[str]:
        """Block until something has changed."""
        while not (changed := self.changed()):
            time.sleep(PAUSE)
        return changed


def _saved(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


# --------------------------------------------------------------------------- what it rests on


def imported() -> set[str]:
    """The files of this process's modules that are the user's to edit."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {file for file in files if isinstance(file, str) and _is_own(file)}


def _is_own(file: str) -> bool:
    """Neither Python's own, nor installed, nor tclab's, nor what the compiler wrote."""
    library = sysconfig.get_paths()
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    others = (library["stdlib"], library["purelib"], library["platlib"], own)
    if not file.endswith(".py") or scrub(file).startswith("<inductor-cache>"):
        return False
    return not file.startswith(tuple(f + os.sep for f in others))


def in_error(error: BaseException) -> set[str]:
    """The user's files in the tracebacks of an error and of what it came from. A module that
    cannot be imported is nowhere else.
    """
    return {file for each in causes(error) for file in _of(each) if _is_own(file)}


def _of(error: BaseException) -> Iterator[str]:
    yield from (frame.filename for frame in traceback.extract_tb(error.__traceback__))
    if isinstance(error, SyntaxError) and error.filename:
        yield os.path.abspath(error.filename)
