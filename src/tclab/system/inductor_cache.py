"""Find Inductor's cache folder, and spare a new one the trials of the CPU.

Before its first C++ kernel Inductor compiles and loads a file for each set of vector instructions
that the CPU may have. The files lie in its cache folder, so a process with an empty one compiles
them again, which takes longer than most kernels. A copy of these files has no kernel in it.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import shutil
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "TORCHINDUCTOR_CACHE_DIR"
#: Sources of trials are ``<key>.cpp``; a kernel has ``<key>.main.cpp``.
_TRIAL = re.compile(r"\w+\.cpp")
_ELF64 = b"\x7fELF\x02"
#: Positions in an ELF header: of the section table's offset (8 bytes), and of the size and the
#: number of its entries (2 bytes each).
_TABLE, _ENTRIES = 0x28, 0x3A


def default_folder(temporary: Path) -> Path:
    """Return the folder in a temporary folder that Inductor uses if no variable names another. The
    headers that it precompiles lie there in any case.
    """
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid_{os.getuid()}" if hasattr(os, "getuid") else "unknown_user"
    return temporary / ("torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", name))


def folder() -> Path:
    """Return the cache folder of this process."""
    return Path(os.environ.get(VARIABLE) or default_folder(Path(tempfile.gettempdir())))


def copy_cpu_trials(target: str | Path, source: Path | None = None) -> None:
    """Copy what Inductor compiled to try the CPU's vector instructions into the cache folder
    `target`: from `source`, or from this process's folder. Nothing is copied if nothing is there.
    """
    with contextlib.suppress(OSError):
        for file in cpu_trials(source or folder()):
            copy = Path(target) / file.parent.name / file.name
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                new = copy.with_name(f".{os.getpid()}-{copy.name}")
                shutil.copy2(file, new)
                os.replace(new, copy)  # another process may look for it meanwhile


def cpu_trials(cache: Path) -> Iterator[Path]:
    """Yield the files of the trials in a cache folder: sources, and what was compiled of them. A
    library that a compiler still writes is left out, since Inductor takes it for a failed trial.
    """
    for path in cache.glob("*/*.cpp"):
        if _TRIAL.fullmatch(path.name):
            yield from filter(is_complete, path.parent.glob(f"{path.stem}.*"))


def is_complete(path: Path) -> bool:
    """Return whether a file is complete: a 64-bit ELF library has all its sections; any other file
    is not empty.
    """
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
