"""Define the rules that several backends share, most of them from ``sdp_utils_cpp.h``.

A rule names the C++ function it follows; its check takes the call and the machine. Conditions on
sizes are evaluated in the order of the source, because each one on a symbolic size adds a guard.
The rules ignore nested tensors, which `chooser` refuses earlier.
"""

from __future__ import annotations

import torch

from tclab.capturing.target.sdpa.call import Call, Machine
from tclab.capturing.target.sdpa.rule import HEADER, SOURCE, Rule, rule

HALF = (torch.float16, torch.bfloat16)


def not_switched_off(backend: str, function: str, file: str = HEADER) -> Rule:
    """Make the rule that the user has not switched off the backend."""
    return Rule(
        "not switched off", function, lambda call, machine: backend in machine.enabled, file
    )


@rule("four dimensions", "check_tensor_shapes", HEADER)
def four_dimensions(call: Call, machine: Machine) -> bool:
    """Require four dimensions of each input."""
    return all(t.dim() == 4 for t in call.inputs)


@rule("a mask that fits", "check_attn_mask_shape", HEADER)
def mask_fits(call: Call, machine: Machine) -> bool:
    """Require a mask without gradients, of two or four dimensions that broadcast to the scores."""
    mask, fits = call.mask, call.evaluator.mask_fits
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
    """Require at least one query and one key."""
    queries = call.surely_fails(call.query.shape[-2] == 0)
    return call.surely_fails(call.key.shape[-2] == 0) and queries  # both conditions add guards


def _make_stride_rule(*, ignore_singleton: bool) -> Rule:
    """Make the rule that the last dimension of the inputs and of the mask has stride 1."""

    @rule("a last dimension without gaps", "check_last_dim_stride_equals_1_dense", HEADER)
    def check(call: Call, machine: Machine) -> bool:
        ones = all(call.surely_holds(t.stride(-1) == 1) for t in call.inputs)
        if not ones and not (ignore_singleton and call.surely_holds(call.query.shape[-1] == 1)):
            return False
        return call.mask is None or call.surely_holds(call.mask.stride(-1) == 1)

    return check


last_stride = _make_stride_rule(ignore_singleton=False)
last_stride_if_wide = _make_stride_rule(ignore_singleton=True)


def has_dtype(call: Call, dtypes: tuple[torch.dtype, ...]) -> bool:
    """Return whether all inputs have the same, allowed dtype (C++: check_tensor_dtype)."""
    return all(t.dtype == call.query.dtype for t in call.inputs) and call.query.dtype in dtypes


def low_precision(function: str) -> Rule:
    """Make the rule that the dtype is float16, or bfloat16 from sm80 on."""

    @rule("16-bit dtypes", function, SOURCE)
    def check(call: Call, machine: Machine) -> bool:
        return has_dtype(call, HALF if machine.major >= 8 else HALF[:1])

    return check


# ------------------------------------------------------------------------------ heads


def _make_heads_rule(
    *, gqa: bool, same_kv: bool = True, mqa: bool = False, early: bool = True
) -> Rule:
    """Make the rule that batches and heads are equal, or that heads are grouped in an allowed way.

    `gqa`, `same_kv` and `mqa` are the parameters of the C++ template
    check_batch_size_and_num_heads_dense <supports_gqa, requires_same_num_heads, supports_mqa>. With
    `early`, heads are compared before the check for grouped queries; PyTorch does so until 2.14.
    """

    @rule("equal batches and heads", "check_batch_size_and_num_heads_dense", HEADER)
    def check(call: Call, machine: Machine) -> bool:
        q, k, v = (t.shape[0] for t in call.inputs)
        if not call.all_hold(lambda: q == k, lambda: q == v):
            return False
        grouped = call.gqa and gqa
        equal = (early or not grouped) and _heads_are_equal(call)
        if grouped:
            return _heads_are_grouped(call, same_kv, early)
        return equal or (mqa and _has_one_key_head(call))

    return check


def _heads_are_equal(call: Call) -> bool:
    q, k, v = (t.shape[-3] for t in call.inputs)
    return call.all_hold(lambda: q == k, lambda: q == v)


def _has_one_key_head(call: Call) -> bool:
    q, k, v = (t.shape[-3] for t in call.inputs)
    return call.all_hold(lambda: q > 0, lambda: k == 1, lambda: v == 1)


def _heads_are_grouped(call: Call, same_kv: bool, early: bool) -> bool:
    """Return whether the number of query heads is a multiple of the numbers of key and value heads
    (C++: check_grouped_query_attention).
    """
    q, k, v = (t.shape[-3] for t in call.inputs)
    if (early or same_kv) and not call.surely_holds(k == v) and same_kv:
        return False
    if not early and not call.surely_holds(k > 0):
        return False
    if not call.surely_fails(q % k != 0):
        return False
    return same_kv or ((early or call.surely_holds(v > 0)) and call.surely_fails(q % v != 0))


equal_heads = _make_heads_rule(gqa=False)
#: The rule that allows grouped queries, and the rule that also allows one head of keys for all
#: queries (multi-query).
grouped_heads = _make_heads_rule(gqa=True)
grouped_or_one_head = _make_heads_rule(gqa=True, mqa=True)
grouped_or_one_head_2_15 = _make_heads_rule(gqa=True, mqa=True, early=False)
#: The same rules, but keys and values may have different numbers of heads.
free_heads = _make_heads_rule(gqa=True, same_kv=False)
free_or_one_head = _make_heads_rule(gqa=True, same_kv=False, mqa=True)
free_or_one_head_2_15 = _make_heads_rule(gqa=True, same_kv=False, mqa=True, early=False)
