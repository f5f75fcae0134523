"""Access libc10's table of device guards, which has one slot for each device type. A CPU build has
no guard for CUDA.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import torch

_TABLE = "_ZN3c104impl26device_guard_impl_registryE"  # c10/core/impl/DeviceGuardImplInterface.h
CUDA = 1  # c10::DeviceType::CUDA


def check() -> list[str]:
    """Return one sentence if this PyTorch lacks the table, else an empty list."""
    try:
        cpu = bool(guard_slots()[0])
    except (OSError, ValueError):
        cpu = False
    return [] if cpu else ["libc10's table of device guards is gone (seen in 2.11 2.13 2.15)"]


def guard_slots() -> Any:
    """Return the writable array of pointers to the device guards, by ``c10::DeviceType``."""
    names = {"darwin": "libc10.dylib", "win32": "c10.dll"}
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    library = ctypes.CDLL(os.path.join(folder, names.get(sys.platform, "libc10.so")))
    return (ctypes.c_void_p * (CUDA + 1)).in_dll(library, _TABLE)
