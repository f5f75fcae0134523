"""The conditions of ``sdp_utils_cpp.h`` and ``cuda/sdp_utils.cpp`` (ATen/native/transformers).

Each function bears the name of the C++ function it follows, without ``check_``, and takes the
call and the machine. Conditions on sizes are asked in the order of the source: where a size is
symbolic, each one that is asked becomes a guard. Nested tensors are not told apart here: they are
refused before.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from tclab.capturing.target.sdpa.call import Call, Machine
from tclab.capturing.target.sdpa.symbolic import guard_or_false, guard_or_true

Check = Callable[[Call, Machine], bool]

HALF = (torch.float16, torch.bfloat16)
_SM50, _SM80, _SM121 = (5, 0), (8, 0), (12, 1)


# ------------------------------------------------------------------------------ sdp_utils_cpp.h


def enabled(backend: str) -> Check:
    """check_runtime_disabled_flash, …_mem_efficient, …_cudnn."""
    return lambda call, machine: backend in machine.enabled


def tensor_shapes(call: Call, machine: Machine) -> bool:
    """Four dimensions each."""
    return all(t.dim() == 4 for t in call.inputs)


def for_attn_mask(call: Call, machine: Machine) -> bool:
    """No mask at all."""
    return call.mask is None


def attn_mask_shape(call: Call, machine: Machine) -> bool:
    """A mask without gradients, of two or four dimensions that broadcast."""
    mask, fits = call.mask, call.conditions.mask_fits
    if mask is None:
        return True
    if mask.requires_grad or not fits(mask.shape[-2], call.query.shape[2]):
        return False
    if not fits(mask.shape[-1], call.key.shape[2]):
        return False
    if mask.dim() != 4:
        return mask.dim() == 2
    return fits(mask.shape[0], call.query.shape[0]) and fits(mask.shape[1], call.query.shape[1])


def batch_size_and_num_heads(
    *, gqa: bool, same_kv: bool = True, mqa: bool = False, early: bool = True
) -> Check:
    """check_batch_size_and_num_heads_dense<supports_gqa, requires_same_num_heads, supports_mqa>.

    `early`: heads are compared before it is asked whether queries are grouped, as until 2.14.
    """

    def check(call: Call, machine: Machine) -> bool:
        q, k, v = (t.shape[0] for t in call.inputs)
        if not call.all(lambda: q == k, lambda: q == v):
            return False
        grouped = call.gqa and gqa
        equal = (early or not grouped) and _equal_heads(call)
        if grouped:
            return _grouped(call, same_kv, early)
        return equal or (mqa and _one_head_of_keys(call))

    return check


def _equal_heads(call: Call) -> bool:
    q, k, v = (t.shape[-3] for t in call.inputs)
    return call.all(lambda: q == k, lambda: q == v)


def _one_head_of_keys(call: Call) -> bool:
    q, k, v = (t.shape[-3] for t in call.inputs)
    return call.all(lambda: q > 0, lambda: k == 1, lambda: v == 1)


def _grouped(call: Call, same_kv: bool, early: bool) -> bool:
    """check_grouped_query_attention."""
    q, k, v = (t.shape[-3] for t in call.inputs)
    if (early or same_kv) and not call.sure(k == v) and same_kv:
        return False
    if not early and not call.sure(k > 0):
        return False
    if not call.surely_not(q % k != 0):
        return False
    return same_kv or ((early or call.sure(v > 0)) and call.surely_not(q % v != 0))


def nonzero_sequence_lengths(call: Call, machine: Machine) -> bool:
    """check_nonzero_sequence_lengths_dense."""
    queries = call.surely_not(call.query.shape[-2] == 0)
    return call.surely_not(call.key.shape[-2] == 0) and queries  # both are asked


def last_dim_stride_equals_1(*, ignore_singleton: bool) -> Check:
    """check_last_dim_stride_equals_1_dense, the mask's last dimension included."""

    def check(call: Call, machine: Machine) -> bool:
        ones = all(call.sure(t.stride(-1) == 1) for t in call.inputs)
        if not ones and not (ignore_singleton and call.sure(call.query.shape[-1] == 1)):
            return False
        return call.mask is None or call.sure(call.mask.stride(-1) == 1)

    return check


def _of_dtype(call: Call, allowed: tuple[torch.dtype, ...]) -> bool:
    """check_tensor_dtype."""
    return all(t.dtype == call.query.dtype for t in call.inputs) and call.query.dtype in allowed


# ------------------------------------------------------------------------------ flash


def head_dim_size_flash(call: Call, machine: Machine) -> bool:
    """One head size for all, at most 256."""
    q, k, v = (t.shape[-1] for t in call.inputs)
    return call.all(lambda: q == k, lambda: q == v, lambda: q <= 256)


def flash_attention_hardware_support(call: Call, machine: Machine) -> bool:
    """sm80 to sm121."""
    return machine.between(_SM80, _SM121)


def requires_grad_and_head_dim_gt192(*, early: bool) -> Check:
    """check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120.

    `early`: the head size is compared before it is asked whether it matters, as until 2.14.
    """

    def check(call: Call, machine: Machine) -> bool:
        small = machine.between((8, 6), (8, 9)) or machine.between((12, 0), _SM121)
        matters = call.needs_grad and small
        return not (early or matters) or _head_size_trains(call) or not matters

    return check


def _head_size_trains(call: Call) -> bool:
    size = call.query.shape[-1]
    return call.sure(size <= 192) or (call.surely_not(size <= 224) and not call.dropout)


def flash_causal_non_square_seqlens(call: Call, machine: Machine) -> bool:
    """With the causal flag, as many queries as keys."""
    return not call.causal or call.surely_not(call.query.shape[-2] != call.key.shape[-2])


def flash_attention_grid_size(call: Call, machine: Machine) -> bool:
    """At most 65535 batches and heads."""
    batch, heads = call.query.shape[0], call.query.shape[1]
    return call.none(lambda: batch > 65535, lambda: heads > 65535)


def dtypes_flash_attention(call: Call, machine: Machine) -> bool:
    """float16 and bfloat16; with FlashAttention 3 switched on also float8."""
    return dtypes_low_precision(call, machine)


def dtypes_low_precision(call: Call, machine: Machine) -> bool:
    """float16, and bfloat16 from sm80 on."""
    return _of_dtype(call, HALF if machine.major >= 8 else HALF[:1])


# ------------------------------------------------------------------------------ memory-efficient


def mem_efficient_hardware_support(call: Call, machine: Machine) -> bool:
    """sm50 to sm121."""
    return machine.between(_SM50, _SM121)


def head_dim_size_mem_efficient(call: Call, machine: Machine) -> bool:
    """Head sizes that are multiples of what a matrix product wants."""
    q, k, v = (t.shape[-1] for t in call.inputs)
    step = minimum_gemm_alignment(call, machine)
    return call.all(lambda: q == k, lambda: q % step == 0, lambda: q > 0,
                    lambda: v % step == 0, lambda: v > 0)  # fmt: skip


def minimum_gemm_alignment(call: Call, machine: Machine) -> int:
    """Numbers in a row that the CUTLASS kernels need (sdp_utils.cpp: minimum_gemm_alignment)."""
    half = call.query.dtype in HALF
    least = 4 if machine.major >= 8 else 1
    tensor_cores = machine.major >= 8 or (machine.major == 7 and half)
    return max(least, 128 // (16 if half else 32)) if tensor_cores else least


def data_ptr_alignment_mem_efficient(call: Call, machine: Machine) -> bool:
    """From sm80 on, each tensor begins at a multiple of that many numbers of its storage."""
    if machine.major < 8:
        return True
    step = minimum_gemm_alignment(call, machine) * call.query.element_size()
    starts = ((t.storage_offset() * t.element_size(), t) for t in call.inputs)
    return all(guard_or_false(t.numel() == 0) or guard_or_true(o % step == 0) for o, t in starts)


def dtypes_mem_efficient(call: Call, machine: Machine) -> bool:
    """can_use_mem_efficient_attention: float16 and float32, and bfloat16 from sm80 on."""
    allowed = (torch.float16, torch.float32)
    return _of_dtype(call, (*allowed, torch.bfloat16) if machine.major >= 8 else allowed)
