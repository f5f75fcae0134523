"""Replace a folder in one step, so that a kill or a full disk leaves the old one or the new."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import sys
from collections.abc import Callable
from pathlib import Path


def replace(target: Path, fill: Callable[[Path], None]) -> None:
    """Have `fill` write a new folder beside `target`, then put it in its place.

    On any error the former content stays.
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
    """One exchange where the system has it, else two renames.

    Between the two only ``.NAME.old`` holds the former content; `recover` puts it back.
    """
    if target.exists() and _exchange(new, target):
        return
    old = _old(target)
    if target.exists():
        os.rename(target, old)
    try:
        os.rename(new, target)
    except OSError:
        recover(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _exchange(a: Path, b: Path) -> bool:
    """Linux's renameat2(RENAME_EXCHANGE): atomic. False where it is not to be had."""
    if not sys.platform.startswith("linux"):
        return False
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    at_cwd, exchange = -100, 2
    status: int = renameat2(at_cwd, os.fsencode(a), at_cwd, os.fsencode(b), exchange)
    return status == 0


def recover(target: Path) -> None:
    """Undo a swap that was cut short, and sweep what a killed `replace` left."""
    old = _old(target)
    if old.exists():
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(old, target)


def sweep(target: Path) -> None:
    """Remove half-written folders beside `target`. Only under its lock."""
    for path in target.parent.glob(f".{target.name}.new-*"):
        shutil.rmtree(path, ignore_errors=True)


def _old(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")
