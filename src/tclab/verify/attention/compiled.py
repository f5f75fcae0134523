"""PyTorch's compiled choice of attention, asked about a GPU that is not there.

``_fused_sdp_choice`` of a CUDA build asks four functions about the GPU: how many there are, which
is current, and for its properties, of which it reads the compute capability. Without a driver
they fail. Here the first bytes of each, in memory, become a jump to one that answers for a
capability. All else, the order and every condition, stays the library's own machine code: so what
it answers is what this release answers where the driver says the same. Which cuDNN there is, it
asks the installed one.

Linux on x86-64 only. Nothing is put back: use a process of its own.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys
from typing import Any

import torch

#: Where ``cudaDeviceProp`` of CUDA 12 and 13 holds ``major`` and ``minor`` (driver_types.h).
_MAJOR = 360
_PROPERTIES = ctypes.create_string_buffer(8192)

#: Library → mangled name → what stands in for it.
_STAND_INS: dict[str, dict[str, Any]] = {
    "libtorch_cuda.so": {
        "_ZN2at4cuda26getCurrentDevicePropertiesEv": ctypes.CFUNCTYPE(ctypes.c_void_p)(
            lambda: ctypes.addressof(_PROPERTIES)
        ),
        "_ZN2at4cuda19getDevicePropertiesEa": ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int8)(
            lambda index: ctypes.addressof(_PROPERTIES)
        ),
    },
    "libc10_cuda.so": {
        "_ZN3c104cuda12device_countEv": ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1),
        "_ZN3c104cuda14current_deviceEv": ctypes.CFUNCTYPE(ctypes.c_int8)(lambda: 0),
    },
}


def impossible() -> str:
    """Why this cannot be done here, or ''."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "it is done on Linux on x86-64 only"
    return "" if torch.version.cuda else f"torch {torch.__version__} is not built for CUDA"


def pretend(capability: tuple[int, int]) -> None:
    """From now on this process's PyTorch finds one GPU of that capability when it chooses."""
    numbers = b"".join(number.to_bytes(4, "little") for number in capability)
    ctypes.memmove(ctypes.addressof(_PROPERTIES) + _MAJOR, numbers, len(numbers))
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    for name, functions in _STAND_INS.items():
        library = ctypes.CDLL(os.path.join(folder, name))
        for symbol, stand_in in functions.items():
            _jump(getattr(library, symbol), stand_in)


def _jump(function: Any, stand_in: Any) -> None:
    """Overwrite the beginning of a function with ``movabs rax, stand_in; jmp rax``."""
    address, there = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (function, stand_in))
    page = address & ~(mmap.PAGESIZE - 1)
    everything = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    libc = ctypes.CDLL(None, use_errno=True)
    length = ctypes.c_size_t(2 * mmap.PAGESIZE)
    if libc.mprotect(ctypes.c_void_p(page), length, everything):
        raise OSError(ctypes.get_errno(), "this system does not let code be changed in memory")
    code = b"\x48\xb8" + there.to_bytes(8, "little") + b"\xff\xe0"
    ctypes.memmove(address, code, len(code))
