"""Choose folders whose paths Inductor can put into a compiler's command.

Inductor writes a C++ compiler's command as one text, in which it quotes few paths, and then splits
it at spaces and quotes. So the paths of compiled files and of PyTorch itself must have neither
spaces nor quotes, wherever the project is.
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

#: Characters without a special meaning on a command line, in a C string and to the linker.
_SAFE_PATH = re.compile(r"[\w/.+%@~=-]+")


class NoTemporarySpace(TclabError):
    """Raised if the temporary folder accepts no more files; `cause` says why."""

    def __init__(self, cause: str) -> None:
        step = "free some space there, or name another folder: TMPDIR=FOLDER"
        super().__init__("the temporary folder", cause, step)


def is_safe_path(path: Path | str) -> bool:
    """Return whether Inductor's commands can contain this path."""
    return _SAFE_PATH.fullmatch(str(path)) is not None


def set_temporary_folder() -> str:
    """Choose this process's folder for temporary files and return it: the default one, or another
    one if the default's path is not safe. Raises TclabError if no folder is usable.
    """
    for folder in (_default_temporary_folder(), "/tmp", "/var/tmp", str(user_cache_folder())):
        if is_safe_path(folder) and os.access(folder, os.W_OK | os.X_OK):
            tempfile.tempdir = folder
            return folder
    folder = _default_temporary_folder()
    cause = f"a compile cannot take the path {folder}: it has a space, a quote or the like"
    raise TclabError("the temporary folder", cause, "name another: TMPDIR=FOLDER")


def _default_temporary_folder() -> str:
    try:
        return tempfile.gettempdir()
    except OSError as error:
        raise NoTemporarySpace(f"there is none that takes files: {error.strerror}") from None


def choose_compile_folder(folder: Path, fallback: Path) -> Path:
    """Return the first usable folder of these: `folder`, a folder in the user's cache,
    `fallback`.
    """
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    for one in (folder, user_cache_folder() / "tclab" / digest):
        with contextlib.suppress(OSError):
            if is_safe_path(one):
                one.mkdir(parents=True, exist_ok=True)
                if os.access(one, os.W_OK | os.X_OK):
                    return one
    return fallback


def user_cache_folder() -> Path:
    """Return the user's cache folder: XDG_CACHE_HOME, or ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def python_for_compiles(cache: Path) -> str:
    """Return the path of this Python, or of a link to it in `cache` if the path is not safe."""
    beneath = os.path.relpath(sys.executable, sys.prefix)
    if is_safe_path(sys.prefix) or beneath.startswith(os.pardir):
        return sys.executable
    link = cache / "python"
    new = link.with_name(f"python.{os.getpid()}")
    os.symlink(sys.prefix, new)
    os.replace(new, link)
    return str(link / beneath)
