"""Find the files that an explanation depends on, and notice when one is saved."""

from __future__ import annotations

import os
import sys
import sysconfig
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tclab.explain.load import causes
from tclab.text.scrub import is_generated

#: The seconds between two checks, and the seconds without a change after which a file counts as
#: saved, because an editor can write a file in two steps.
PAUSE, QUIET = 0.25, 0.15

Stamp = tuple[object, ...]


def stamp(path: str) -> Stamp:
    """Return a file's time, size and inode. For a folder, which is a path that ends in a slash,
    return the names of its Python files. Return nothing if the path does not exist.
    """
    try:
        if path.endswith(os.sep):
            return tuple(sorted(name for name in os.listdir(path) if name.endswith(".py")))
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino


@dataclass
class WatchedFiles:
    """Files with their stamps from the beginning of an attempt."""

    stamps: dict[str, Stamp] = field(default_factory=dict)

    def add(self, paths: Iterable[str], since: float) -> None:
        """Watch these files, too. A file saved after `since`, the time at which the attempt that
        read it began, counts as changed.
        """
        for path in paths:
            if path not in self.stamps:
                late = not path.endswith(os.sep) and _time_saved(path) > since
                self.stamps[path] = () if late else stamp(path)

    def keep(self, paths: Iterable[str]) -> None:
        """Stop watching all other files."""
        self.stamps = {path: self.stamps[path] for path in paths}

    def take_changes(self) -> list[str]:
        """Return the files that changed, and make their current stamps the new reference."""
        different = self._find_changed()
        while different:
            time.sleep(QUIET)
            before, different = different, self._find_changed()
            if different == before:
                self.stamps |= different
                break
        return list(different)

    def _find_changed(self) -> dict[str, Stamp]:
        """Map each file whose stamp has changed to the new stamp."""
        now = ((path, stamp(path)) for path in self.stamps)
        return {path: new for path, new in now if new != self.stamps[path]}

    def wait(self) -> list[str]:
        """Block until a file has changed, and return the changed ones."""
        while not (changed := self.take_changes()):
            time.sleep(PAUSE)
        return changed


def _time_saved(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


# --------------------------------------------------------------------------- imported files


def imported_files() -> set[str]:
    """Return the files of this process's modules that belong to the user."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {file for file in files if isinstance(file, str) and _is_own(file)}


def _is_own(file: str) -> bool:
    """Return whether a Python file belongs to the user, and not to Python, an installed package,
    tclab or the compiler's output.
    """
    library = sysconfig.get_paths()
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    others = (library["stdlib"], library["purelib"], library["platlib"], own)
    if not file.endswith(".py") or is_generated(file):
        return False
    return not file.startswith(tuple(f + os.sep for f in others))


def files_in_error(error: BaseException) -> set[str]:
    """Return the user's files in the tracebacks of an error and of its causes. The file of a module
    whose import failed is only found in the traceback.
    """
    return {file for each in causes(error) for file in _traceback_files(each) if _is_own(file)}


def _traceback_files(error: BaseException) -> Iterator[str]:
    yield from (frame.filename for frame in traceback.extract_tb(error.__traceback__))
    if isinstance(error, SyntaxError) and error.filename:
        yield os.path.abspath(error.filename)
