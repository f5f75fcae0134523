"""Define the rules that only FlashAttention has (cuda/sdp_utils.cpp: can_use_flash_attention)."""

from __future__ import annotations

from tclab.capturing.target.sdpa import shared
from tclab.capturing.target.sdpa.call import Call, Machine
from tclab.capturing.target.sdpa.rule import HEADER, Rule, rule

not_switched_off = shared.not_switched_off("flash", "check_runtime_disabled_flash")

#: FlashAttention 3 in PyTorch allows float8, too; `chooser` refuses such calls earlier.
dtypes = shared.low_precision("check_dtypes_flash_attention")


@rule("no mask", "check_for_attn_mask", HEADER)
def no_mask(call: Call, machine: Machine) -> bool:
    """Require that the call has no mask."""
    return call.mask is None


@rule("head size to 256", "check_head_dim_size_flash")
def head_size(call: Call, machine: Machine) -> bool:
    """Require equal head sizes of at most 256."""
    q, k, v = (t.shape[-1] for t in call.inputs)
    return call.all_hold(lambda: q == k, lambda: q == v, lambda: q <= 256)


@rule("sm80 to sm121", "check_flash_attention_hardware_support")
def hardware(call: Call, machine: Machine) -> bool:
    """Require a GPU from Ampere to Blackwell."""
    return machine.is_between((8, 0), (12, 1))


def _make_training_rule(function: str, *, early: bool) -> Rule:
    """Make a rule for training with head sizes over 192 on small GPUs.

    With `early`, the head size is compared even if the rule does not apply, and this adds a guard.
    PyTorch does so until 2.14.
    """

    @rule("training with a head size over 192", function)
    def check(call: Call, machine: Machine) -> bool:
        small = machine.is_between((8, 6), (8, 9)) or machine.is_between((12, 0), (12, 1))
        matters = call.needs_grad and small
        return not (early or matters) or _head_size_trains(call) or not matters

    return check


def _head_size_trains(call: Call) -> bool:
    size = call.query.shape[-1]
    return call.surely_holds(size <= 192) or (call.surely_fails(size <= 224) and not call.dropout)


_GT192 = "check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120"
training = _make_training_rule(_GT192, early=True)
training_2_15 = _make_training_rule(f"{_GT192}_121", early=False)


@rule("causal: as many queries as keys", "check_flash_causal_non_square_seqlens")
def causal(call: Call, machine: Machine) -> bool:
    """Require as many queries as keys if the causal flag is set."""
    return not call.causal or call.surely_fails(call.query.shape[-2] != call.key.shape[-2])


@rule("batch and heads to 65535", "check_flash_attention_grid_size")
def grid_size(call: Call, machine: Machine) -> bool:
    """Require at most 65535 batches and at most 65535 heads."""
    batch, heads = call.query.shape[0], call.query.shape[1]
    return call.none_holds(lambda: batch > 65535, lambda: heads > 65535)
