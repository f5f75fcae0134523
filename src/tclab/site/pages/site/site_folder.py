"""Check that the site's folder is writable, and clean up after a failed write."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from mkdocs import utils

from tclab.errors import StoreError

_WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
_STEP = "free some space, make the folder writable, or name another with --site-dir"


def check_writable(site: Path) -> None:
    """Raise StoreError if the site's folder is not writable. Call this before any snippet runs."""
    nearest = next(path for path in (site, *site.parents) if path.exists())
    if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
        cause = "cannot be written" if nearest.is_dir() else f"{nearest.name} is no folder"
        raise StoreError(f"{site.name}/", cause, _STEP)


def remove_unfinished_site(error: Exception, site: Path | None) -> StoreError | None:
    """Remove a site that could not be written completely, and return the error to report.

    Return None if `error` is about something else. The site is removed because an incomplete site
    would look complete.
    """
    if site is None or not isinstance(error, OSError):
        return None
    if error.errno not in _WRITE_ERRORS and not Path(str(error.filename)).is_relative_to(site):
        return None
    with contextlib.suppress(OSError):
        utils.clean_directory(str(site))
    cause = f"could not be written whole, so that nothing of it is left: {error.strerror}"
    return StoreError(f"{site.name}/", cause, _STEP)
