"""The rules that several backends ask, most of them from ``sdp_utils_cpp.h``.

A rule names the C++ function it follows; its check takes the call and the machine. Conditions on
sizes are asked in the order of the source: where a size is symbolic, each one that is asked
becomes a guard. Nested tensors are not told apart here: they are refused before.
"""

from __future__ import annotations

import torch

from tclab.capturing.target.sdpa.call import Call, Machine
from tclab.capturing.target.sdpa.rule import HEADER, SOURCE, Rule, rule

HALF = (torch.float16, torch.bfloat16)


def switched_on(backend: str, function: str, file: str = HEADER) -> Rule:
    """The user has not switched the backend off."""
    return Rule(
        "not switched off", function, lambda call, machine: backend in machine.enabled, file
    )


@rule("four dimensions", "check_tensor_shapes", HEADER)
def four_dimensions(call: Call, machine: Machine) -> bool:
    """Four dimensions each."""
    return all(t.dim() == 4 for t in call.inputs)


@rule("a mask that fits", "check_attn_mask_shape", HEADER)
def mask_fits(call: Call, machine: Machine) -> bool:
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


@rule("no empty sequence", "check_nonzero_sequence_lengths_dense", HEADER)
def nonzero_lengths(call: Call, machine: Machine) -> bool:
    """At least one query and one key."""
    queries = call.surely_not(call.query.shape[-2] == 0)
    return call.surely_not(call.key.shape[-2] == 0) and queries  # both are asked


def _last_stride_is_one(*, ignore_singleton: bool) -> Rule:
    """check_last_dim_stride_equals_1_dense, the mask's last dimension included."""

    @rule("a last dimension without gaps", "check_last_dim_stride_equals_1_dense", HEADER)
    def check(call: Call, machine: Machine) -> bool:
        ones = all(call.sure(t.stride(-1) == 1) for t in call.inputs)
        if not ones and not (ignore_singleton and call.sure(call.query.shape[-1] == 1)):
            return False
        return call.mask is None or call.sure(call.mask.stride(-1) == 1)

    return check


last_stride = _last_stride_is_one(ignore_singleton=False)
last_stride_if_wide = _last_stride_is_one(ignore_singleton=True)


def of_dtype(call: Call, allowed: tuple[torch.dtype, ...]) -> bool:
    """check_tensor_dtype."""
    return all(t.dtype == call.query.dtype for t in call.inputs) and call.query.dtype in allowed


def low_precision(function: str) -> Rule:
    """float16, and bfloat16 from sm80 on."""

    @rule("16-bit dtypes", function, SOURCE)
    def check(call: Call, machine: Machine) -> bool:
        return of_dtype(call, HALF if machine.major >= 8 else HALF[:1])

    return check


# ------------------------------------------------------------------------------ heads


def _heads(*, gqa: bool, same_kv: bool = True, mqa: bool = False, early: bool = True) -> Rule:
    """check_batch_size_and_num_heads_dense<supports_gqa, requires_same_num_heads, supports_mqa>.

    `early`: heads are compared before it is asked whether queries are grouped, as until 2.14.
    """

    @rule("equal batches and heads", "check_batch_size_and_num_heads_dense", HEADER)
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


equal_heads = _heads(gqa=False)
#: Grouped queries, too; then also one head of keys for all (multi-query).
grouped_heads = _heads(gqa=True)
grouped_or_one_head = _heads(gqa=True, mqa=True)
grouped_or_one_head_2_15 = _heads(gqa=True, mqa=True, early=False)
#: The same where keys and values may differ in heads.
free_heads = _heads(gqa=True, same_kv=False)
free_or_one_head = _heads(gqa=True, same_kv=False, mqa=True)
free_or_one_head_2_15 = _heads(gqa=True, same_kv=False, mqa=True, early=False)
