"""Fill libtorch's slot for the function that chooses CUDA's attention kernel. A CPU build leaves
the slot empty.

``scaled_dot_product_attention`` pads, converts masks and calls the chosen operator in C++ that is
in every build. Only the function that chooses the operator is in the CUDA library. libtorch has a
pointer to it in the second field of a ``DispatchStubImpl`` (ATen/native/DispatchStub.h:
cpu_dispatch_ptr, cuda_dispatch_ptr, …).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_STUB = "_ZN2at6native22_fused_sdp_choice_stubE"  # declared in ATen/native/transformers/attention.h
_CPU, _CUDA = 0, 1

#: ``int64_t (*)(const Tensor&, …)``; the type has no arguments, because tclab's functions read
#: none.
_CHOICE = ctypes.CFUNCTYPE(ctypes.c_int64)


def check() -> list[str]:
    """Return one sentence if this PyTorch lacks the slot, else an empty list."""
    try:
        _function_slots()
    except (OSError, ValueError):
        return ["libtorch's choice of attention kernels is gone (seen in 2.11 to 2.15)"]
    return []


@contextmanager
def answer_with(choose: Callable[[], int]) -> Iterator[None]:
    """Let `choose` return the backend's number (SDPBackend) whenever C++ asks during the block."""
    slots = _function_slots()
    before = slots[_CUDA]
    function = _CHOICE(choose)
    slots[_CUDA] = ctypes.cast(function, ctypes.c_void_p).value
    try:
        yield
    finally:
        slots[_CUDA] = before


def _function_slots() -> Any:
    names = {"darwin": "libtorch_cpu.dylib", "win32": "torch_cpu.dll"}
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    library = ctypes.CDLL(os.path.join(folder, names.get(sys.platform, "libtorch_cpu.so")))
    return (ctypes.c_void_p * (_CUDA + 1)).in_dll(library, _STUB)
