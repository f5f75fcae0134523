"""What a compiler had half written when its run was ended: a later run would load it.

g++ writes a library in place, and PyTorch takes whatever stands under the name that it looks for.
"""

from __future__ import annotations

import contextlib
import os
import struct
from pathlib import Path

_ELF64 = b"\x7fELF\x02"
#: Where an ELF header has the place of the section table (8 bytes), its entries' size and number.
_TABLE, _ENTRIES = 0x28, 0x3A


def remove(cache: Path) -> None:
    """Delete libraries below `cache` that are not whole and that nobody is writing now."""
    for path in cache.rglob("*.so"):
        with contextlib.suppress(OSError):
            if not is_whole(path) and not _is_open(path):
                path.unlink()


def is_whole(path: Path) -> bool:
    """Whether a library has what its header promises. One of another format need not be empty."""
    with path.open("rb") as file:
        header = file.read(0x40)
    if not header.startswith(_ELF64[: len(header)]) or not header:
        return bool(header.strip(b"\0"))
    if len(header) < 0x40:
        return False
    (table,) = struct.unpack_from("<Q", header, _TABLE)
    size, number = struct.unpack_from("<HH", header, _ENTRIES)
    end = int(table + size * number)
    return table > 0 and end <= path.stat().st_size


def _is_open(path: Path) -> bool:
    """Whether some process has it open; False where a system does not tell."""
    wanted = os.path.realpath(path)
    for each in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(each) == wanted:
                return True
    return False
