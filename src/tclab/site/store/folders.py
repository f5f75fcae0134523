"""Replace a folder in one step. After a kill or a full disk the folder is the old one or the new
one.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import sys
from collections.abc import Callable
from pathlib import Path


def replace(target: Path, fill: Callable[[Path], None]) -> None:
    """Have `fill` write a new folder beside `target`, then replace `target` by it.

    After an error `target` has its former content.
    """
    recover(target)
    new = target.with_name(f".{target.name}.new-{os.getpid()}-{secrets.token_hex(3)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fill(new)
        _swap(new, target)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _swap(new: Path, target: Path) -> None:
    """Swap the folders by one atomic exchange if the system has it, else by two renames.

    Between the two renames only ``.NAME.old`` holds the former content; `recover` puts it back.
    """
    if target.exists() and _exchange_paths(new, target):
        return
    old = _old_path(target)
    if target.exists():
        os.rename(target, old)
    try:
        os.rename(new, target)
    except OSError:
        recover(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _exchange_paths(a: Path, b: Path) -> bool:
    """Exchange two paths by Linux's renameat2(RENAME_EXCHANGE). Return False if the system lacks
    it.
    """
    if not sys.platform.startswith("linux"):
        return False
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    at_cwd, exchange = -100, 2
    status: int = renameat2(at_cwd, os.fsencode(a), at_cwd, os.fsencode(b), exchange)
    return status == 0


def recover(target: Path) -> None:
    """Finish a swap that was interrupted: remove the old folder, or put it back."""
    old = _old_path(target)
    if old.exists():
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(old, target)


def sweep(target: Path) -> None:
    """Remove unfinished folders beside `target`. The caller must hold the lock of the snippet."""
    for path in target.parent.glob(f".{target.name}.new-*"):
        shutil.rmtree(path, ignore_errors=True)


def _old_path(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")
