"""Write a file that a user named, completely or not at all. A device or a pipe is never
replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path


def replace(path: Path, text: str) -> None:
    """Write `text` to `path` in UTF-8. Raises OSError if that fails; an existing file is then
    unchanged.

    A file is replaced in one step and keeps its mode. A link stays, and the file that it points to
    is replaced. A device, a pipe, or the file to which stdout is redirected is opened and written
    instead.
    """
    replace_bytes(path, text.encode("utf-8", "backslashreplace"))


def replace_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path`, as `replace` writes a text."""
    before = _stat_or_none(path)
    if before is not None and (_is_stdout(before) or not stat.S_ISREG(before.st_mode)):
        _write_through(path, before, data)
        return
    target = Path(os.path.realpath(path))
    with _temporary_sibling(target) as new:
        new.write_bytes(data)
        if before is not None:
            # without permission to change the owner, the new file belongs to this user
            with contextlib.suppress(PermissionError):
                os.chown(new, before.st_uid, before.st_gid)
            os.chmod(new, stat.S_IMODE(before.st_mode))
        os.replace(new, target)


def can_replace(path: Path) -> bool:
    """Return whether `replace` may write this path; its folder must exist."""
    before = path if path.exists() and not path.is_file() else Path(os.path.realpath(path)).parent
    return os.access(before, os.W_OK)


_DISK_FULL_NUMBERS = (errno.ENOSPC, errno.EDQUOT)
# OSError: [Errno 28] No space left on device
# /tmp/ccQ8.s: fatal error: error writing to /tmp/ccQ8.s: No space left on device
# No usable temporary directory found in ['/tmp', '/var/tmp', '/usr/tmp', '/home/me']
_DISK_FULL_MESSAGES = (
    *(os.strerror(number) for number in _DISK_FULL_NUMBERS),
    "No usable temporary directory",
)


def is_disk_full_error(error: BaseException) -> bool:
    """Return whether an error reports a full disk, a full quota, or a missing folder for temporary
    files.
    """
    return getattr(error, "errno", None) in _DISK_FULL_NUMBERS or any(
        words in str(error) for words in _DISK_FULL_MESSAGES
    )


def disk_space_advice() -> str:
    """Return the next step for a user whose disk is full."""
    folder = _temporary_folder()
    return f"free some space, or name another folder for temporary files than {folder}: TMPDIR=…"


def _temporary_folder() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:  # no usual folder for temporary files is writable
        return "/tmp"


def _stat_or_none(path: Path) -> os.stat_result | None:
    """Return the status of the file that `path` points to; None if it does not exist."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_stdout(status: os.stat_result) -> bool:
    """Return whether stdout goes to this file, so that replacing the file would lose the printed
    text.
    """
    with contextlib.suppress(OSError):  # stdout is closed
        return os.path.samestat(status, os.fstat(1))
    return False


def _write_through(path: Path, status: os.stat_result, data: bytes) -> None:
    if _is_stdout(status):
        sys.stdout.flush()
        with open(1, "wb", closefd=False) as out:
            out.write(data)
    else:
        path.write_bytes(data)


@contextlib.contextmanager
def _temporary_sibling(path: Path) -> Iterator[Path]:
    """Yield a new file in the same folder; the file is removed afterwards unless it was moved."""
    new = path.with_name(f".{path.name[:60]}.{secrets.token_hex(4)}")
    new.open("xb").close()
    try:
        yield new
    finally:
        new.unlink(missing_ok=True)
