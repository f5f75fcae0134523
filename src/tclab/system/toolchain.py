"""Describe the C++ compiler that PyTorch finds on this machine, without importing torch."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from tclab.text.scrub import scrub

_USUAL = "clang++" if sys.platform == "darwin" else "g++"

#: The programs that a compiler starts, and the one that lists machine code.
_TOOLS = ("as", "ld", "objdump")


def compiler() -> str:
    """Return the first line of the compiler's ``--version``, and a digest of the files of compiler,
    assembler, linker and disassembler: ``g++ (Debian 12.2.0-14) 12.2.0 (0f3a9c1e)``. Return ''
    without a compiler.
    """
    named = os.environ.get("CXX", "").split() or [_USUAL]
    paths = [shutil.which(name) for name in (named[0], *_TOOLS)]
    if paths[0] is None:
        return ""
    version = _read_version(paths[0], _file_state(paths[0]))
    digests = "".join(_digest(path, _file_state(path)) for path in paths if path)
    return f"{version} ({hashlib.sha256(digests.encode()).hexdigest()[:8]})"


def _file_state(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=32)
def _digest(path: str, _state: tuple[int, int]) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@lru_cache(maxsize=8)
def _read_version(path: str, _state: tuple[int, int]) -> str:
    command = [path, "--version"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return Path(path).name
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return scrub(lines[0].strip()) if lines else Path(path).name
