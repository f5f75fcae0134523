"""Folders whose paths a compile takes.

Inductor writes a C++ compiler's command as one text, in which it quotes few paths, and then splits
it at spaces and quotes. So what is compiled, and the PyTorch it is compiled against, lie where the
path has neither, wherever the project is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import tempfile
from pathlib import Path

from tclab.errors import TclabError

#: What stands for itself on a command line, in a C string and in an argument of the linker.
_PLAIN = re.compile(r"[\w/.+%@~=-]+")


class NoRoom(TclabError):
    """The temporary folder takes no more files, and why."""

    def __init__(self, cause: str) -> None:
        step = "free some space there, or name another folder: TMPDIR=FOLDER"
        super().__init__("the temporary folder", cause, step)


def fits(path: Path | str) -> bool:
    """Inductor's commands take this path."""
    return _PLAIN.fullmatch(str(path)) is not None


def settle_temporary() -> str:
    """The folder for temporary files, from now on for all of this process: the usual one, or
    another where a compile could not take its path. TclabError where there is none.
    """
    for folder in (_usual(), "/tmp", "/var/tmp", str(users_cache())):
        if fits(folder) and os.access(folder, os.W_OK | os.X_OK):
            tempfile.tempdir = folder
            return folder
    cause = f"a compile cannot take the path {_usual()}: it has a space, a quote or the like"
    raise TclabError("the temporary folder", cause, "name another: TMPDIR=FOLDER")


def _usual() -> str:
    try:
        return tempfile.gettempdir()
    except OSError as error:
        raise NoRoom(f"there is none that takes files: {error.strerror}") from None


def for_compiles(folder: Path, otherwise: Path) -> Path:
    """`folder`, or one of its own in the user's cache, or `otherwise`: the first that serves."""
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    for one in (folder, users_cache() / "tclab" / digest):
        with contextlib.suppress(OSError):
            if fits(one):
                one.mkdir(parents=True, exist_ok=True)
                if os.access(one, os.W_OK | os.X_OK):
                    return one
    return otherwise


def users_cache() -> Path:
    """The folder that the user's programs keep files in which only save time."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def python(cache: Path) -> str:
    """This Python. Where PyTorch lies below a path that does not fit, by a link in `cache`."""
    beneath = os.path.relpath(sys.executable, sys.prefix)
    if fits(sys.prefix) or beneath.startswith(os.pardir):
        return sys.executable
    link = cache / "python"
    new = link.with_name(f"python.{os.getpid()}")
    os.symlink(sys.prefix, new)
    os.replace(new, link)
    return str(link / beneath)
