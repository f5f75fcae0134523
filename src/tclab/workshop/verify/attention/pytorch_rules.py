"""Ask PyTorch's compiled choice of attention about a GPU that this machine lacks.

In a CUDA build ``_fused_sdp_choice`` asks four functions about the GPU: how many GPUs there are,
which one is current, and what its properties are. It reads only the compute capability of these
properties. Without a driver the four functions fail. This module overwrites the first bytes of each
function in memory with a jump to a function that answers for a given capability. The order of
kernels and all conditions are still computed by the library's own machine code, so the answer is
that of this release on such a GPU. The library asks the installed cuDNN for its version.

Linux on x86-64 only. The change cannot be undone: use a separate process.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys
from typing import Any

import torch

#: The offset in bytes of ``major`` in ``cudaDeviceProp`` of CUDA 12 and 13; ``minor`` follows
#: (driver_types.h).
_MAJOR = 360
_PROPERTIES = ctypes.create_string_buffer(8192)

#: Library → mangled name → the function that replaces it.
_REPLACEMENTS: dict[str, dict[str, Any]] = {
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


def explain_unsupported() -> str:
    """Return why `set_capability` cannot work on this machine or with this PyTorch; '' if it
    can.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "it is done on Linux on x86-64 only"
    return "" if torch.version.cuda else f"torch {torch.__version__} is not built for CUDA"


def set_capability(capability: tuple[int, int]) -> None:
    """Make this process's PyTorch choose attention backends as for one GPU of that capability."""
    numbers = b"".join(number.to_bytes(4, "little") for number in capability)
    ctypes.memmove(ctypes.addressof(_PROPERTIES) + _MAJOR, numbers, len(numbers))
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    for name, functions in _REPLACEMENTS.items():
        library = ctypes.CDLL(os.path.join(folder, name))
        for symbol, replacement in functions.items():
            _redirect(getattr(library, symbol), replacement)


def _redirect(function: Any, replacement: Any) -> None:
    """Overwrite the beginning of a function with ``movabs rax, replacement; jmp rax``."""
    pair = function, replacement
    address, destination = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in pair)
    page = address & ~(mmap.PAGESIZE - 1)
    access = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    libc = ctypes.CDLL(None, use_errno=True)
    length = ctypes.c_size_t(2 * mmap.PAGESIZE)
    if libc.mprotect(ctypes.c_void_p(page), length, access):
        raise OSError(ctypes.get_errno(), "this system does not let code be changed in memory")
    code = b"\x48\xb8" + destination.to_bytes(8, "little") + b"\xff\xe0"
    ctypes.memmove(address, code, len(code))
