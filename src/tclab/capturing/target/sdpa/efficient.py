"""Define the rules that only memory-efficient attention has (can_use_mem_efficient_attention)."""

from __future__ import annotations

import torch

from tclab.capturing.target.sdpa import shared
from tclab.capturing.target.sdpa.call import Call, Machine
from tclab.capturing.target.sdpa.rule import rule
from tclab.capturing.target.sdpa.symbolic import guard_or_false, guard_or_true

not_switched_off = shared.not_switched_off("efficient", "check_runtime_disabled_mem_efficient")


@rule("sm50 to sm121", "check_mem_efficient_hardware_support")
def hardware(call: Call, machine: Machine) -> bool:
    """Require a GPU from Maxwell to Blackwell."""
    return machine.is_between((5, 0), (12, 1))


@rule("aligned head sizes", "check_head_dim_size_mem_efficient")
def head_sizes(call: Call, machine: Machine) -> bool:
    """Require head sizes that are multiples of `minimum_gemm_alignment`."""
    q, k, v = (t.shape[-1] for t in call.inputs)
    step = minimum_gemm_alignment(call, machine)
    return call.all_hold(lambda: q == k, lambda: q % step == 0, lambda: q > 0,
                    lambda: v % step == 0, lambda: v > 0)  # fmt: skip


def minimum_gemm_alignment(call: Call, machine: Machine) -> int:
    """Return the alignment for CUTLASS kernels, in elements (sdp_utils.cpp:
    minimum_gemm_alignment).
    """
    half = call.query.dtype in shared.HALF
    least = 4 if machine.major >= 8 else 1
    tensor_cores = machine.major >= 8 or (machine.major == 7 and half)
    return max(least, 128 // (16 if half else 32)) if tensor_cores else least


@rule("aligned beginnings", "check_data_ptr_alignment_mem_efficient")
def beginnings(call: Call, machine: Machine) -> bool:
    """Require, from sm80 on, that each input's storage offset is a multiple of the alignment."""
    if machine.major < 8:
        return True
    step = minimum_gemm_alignment(call, machine) * call.query.element_size()
    starts = ((t.storage_offset() * t.element_size(), t) for t in call.inputs)
    return all(guard_or_false(t.numel() == 0) or guard_or_true(o % step == 0) for o, t in starts)


@rule("16- and 32-bit dtypes", "can_use_mem_efficient_attention")
def dtypes(call: Call, machine: Machine) -> bool:
    """Require float16 or float32, or bfloat16 from sm80 on."""
    allowed = (torch.float16, torch.float32)
    return shared.has_dtype(call, (*allowed, torch.bfloat16) if machine.major >= 8 else allowed)
