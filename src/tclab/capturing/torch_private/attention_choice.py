"""Who chooses an attention kernel for CUDA: a slot in libtorch, empty in a CPU build.

``scaled_dot_product_attention`` pads, converts masks and calls the chosen operator in C++ that is
in every build. Only the choice is the CUDA library's, and it stands as a function pointer in the
second field of a ``DispatchStubImpl`` (ATen/native/DispatchStub.h: cpu_dispatch_ptr,
cuda_dispatch_ptr, …).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_STUB = "_ZN2at6native22_fused_sdp_choice_stubE"  # ATen/native/transformers/attention.h
_CPU, _CUDA = 0, 1

#: ``int64_t (*)(const Tensor&, …)``; the arguments are not read, so they need not be told.
_CHOICE = ctypes.CFUNCTYPE(ctypes.c_int64)


def check() -> list[str]:
    """A sentence if the slot is gone; empty if all is well."""
    try:
        _slots()
    except (OSError, ValueError):
        return ["libtorch's choice of attention kernels is gone (seen in 2.11 to 2.15)"]
    return []


@contextmanager
def answered_by(choose: Callable[[], int]) -> Iterator[None]:
    """For the length of the block, `choose` gives the backend's number when C++ asks for it."""
    slots = _slots()
    before = slots[_CUDA]
    function = _CHOICE(choose)
    slots[_CUDA] = ctypes.cast(function, ctypes.c_void_p).value
    try:
        yield
    finally:
        slots[_CUDA] = before


def _slots() -> Any:
    names = {"darwin": "libtorch_cpu.dylib", "win32": "torch_cpu.dll"}
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    library = ctypes.CDLL(os.path.join(folder, names.get(sys.platform, "libtorch_cpu.so")))
    return (ctypes.c_void_p * (_CUDA + 1)).in_dll(library, _STUB)
