"""Whether the site can be written, and what is done where it could not be."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from mkdocs import utils

from tclab.errors import StoreError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
_STEP = "free some space, make the folder writable, or name another with --site-dir"


def check(site: Path) -> None:
    """StoreError where nothing can be written there: before anything runs or is removed."""
    there = next(path for path in (site, *site.parents) if path.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        cause = "cannot be written" if there.is_dir() else f"{there.name} is no folder"
        raise StoreError(f"{site.name}/", cause, _STEP)


def failure(error: Exception, site: Path | None) -> StoreError | None:
    """The error of a build that could not write all of its site, which is removed: half of one
    looks whole. None for any other error.
    """
    if site is None or not isinstance(error, OSError):
        return None
    if error.errno not in _FULL and not Path(str(error.filename)).is_relative_to(site):
        return None
    with contextlib.suppress(OSError):
        utils.clean_directory(str(site))
    cause = f"could not be written whole, so that nothing of it is left: {error.strerror}"
    return StoreError(f"{site.name}/", cause, _STEP)
