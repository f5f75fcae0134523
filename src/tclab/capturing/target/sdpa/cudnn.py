"""Define the rules that only cuDNN's attention has (cuda/sdp_utils.cpp:
can_use_cudnn_attention).
"""

from __future__ import annotations

from tclab.capturing.target.sdpa import shared
from tclab.capturing.target.sdpa.call import Call, Machine
from tclab.capturing.target.sdpa.rule import SOURCE, rule

_HOPPER = (9, 0)

not_switched_off = shared.not_switched_off("cudnn", "check_runtime_disabled_cudnn", SOURCE)
low_precision = shared.low_precision("check_dtypes_low_precision")


def prefers_cudnn(machine: Machine) -> bool:
    """Return whether PyTorch prefers cuDNN to the other backends: if cuDNN is newer than 9.15, and
    the GPU is an sm9x or sm10x. This is the rule in a build for CUDA 13 (sdp_utils.cpp:
    check_prefer_cudnn_attention).
    """
    return machine.cudnn > 91500 and machine.major in (9, 10)


@rule("cuDNN 9", "can_use_cudnn_attention")
def cudnn_9(call: Call, machine: Machine) -> bool:
    """Require cuDNN 9 or later. With dropout, refuse the versions from 9.11.1 to 9.13."""
    return machine.cudnn >= 90000 and not (call.dropout > 0 and 91100 < machine.cudnn < 91400)


@rule("not deterministic", "check_cudnn_deterministic")
def not_deterministic(call: Call, machine: Machine) -> bool:
    """Require that ``torch.use_deterministic_algorithms`` is off."""
    return not machine.deterministic


@rule("sm80 to sm121", "check_cudnn_hardware_support")
def hardware(call: Call, machine: Machine) -> bool:
    """Require a GPU from Ampere to Blackwell."""
    return machine.is_between((8, 0), (12, 1))


@rule("dropout in sixteenths", "check_cudnn_dropout")
def dropout(call: Call, machine: Machine) -> bool:
    """Require a dropout probability that is a multiple of 1/16."""
    return (call.dropout * 16).is_integer()


@rule("batch and heads to 65535", "check_cudnn_tensor_shapes")
def batch_and_heads(call: Call, machine: Machine) -> bool:
    """Require at most 65535 batches and at most 65535 heads."""
    batch, heads = call.query.shape[0], call.query.shape[1]
    return call.none_holds(lambda: batch > 65535, lambda: heads > 65535)


@rule("head sizes", "check_cudnn_tensor_shapes")
def head_sizes(call: Call, machine: Machine) -> bool:
    """Require, in 2.11 to 2.13, head sizes that are multiples of 8, up to 128, 192 or 256."""
    limit = 128
    if machine.cudnn >= 91000 and machine.capability == _HOPPER:
        limit = 256
    q, v = call.query.shape[3], call.value.shape[3]
    blackwell = machine.cudnn >= 91100 and machine.major == 10
    if blackwell and call.all_hold(lambda: q == 192, lambda: v == 128):
        limit = 192
    return call.none_holds(
        lambda: q > limit, lambda: v > limit, lambda: q % 8 != 0, lambda: v % 8 != 0
    )


@rule("head sizes", "check_cudnn_tensor_shapes")
def head_sizes_256(call: Call, machine: Machine) -> bool:
    """Require, from 2.14 on, head sizes that are multiples of 8 up to 128, or up to 256 on sm90 and
    sm10x with cuDNN after 9.22.
    """
    q, v = call.query.shape[3], call.value.shape[3]
    limit = 128
    if _allows_256(machine):
        limit = 256
    elif (
        _is_hopper_or_blackwell(machine)
        and machine.cudnn >= 91100
        and call.all_hold(lambda: q == 192, lambda: v == 128)
    ):
        limit = 192
    return call.none_holds(
        lambda: q > limit, lambda: v > limit, lambda: q % 8 != 0, lambda: v % 8 != 0
    )


@rule("training with a head size over 128", "check_cudnn_d256_bprop_head_dim")
def training(call: Call, machine: Machine) -> bool:
    """Require, for training where head sizes up to 256 are allowed, a pair of head sizes that has a
    backward.
    """
    if not (call.needs_grad and _allows_256(machine)):
        return True
    q, v = call.query.shape[3], call.value.shape[3]
    return (
        call.all_hold(lambda: q <= 128, lambda: v <= 128)
        or call.all_hold(lambda: q == 192, lambda: v == 128)
        or call.all_hold(lambda: q == 256, lambda: v == 256)
    )


def _is_hopper_or_blackwell(machine: Machine) -> bool:
    return machine.capability == _HOPPER or machine.major == 10


def _allows_256(machine: Machine) -> bool:
    sm107_too_old = machine.capability == (10, 7) and machine.cudnn <= 92500
    return _is_hopper_or_blackwell(machine) and not sm107_too_old and machine.cudnn > 92200


@rule("decoding", "is_cudnn_attention_decode_disabled")
def decode(call: Call, machine: Machine) -> bool:
    """Require more than one query with cuDNN 9.19 to 9.25.0 on sm10x and sm11x."""
    broken = 91900 <= machine.cudnn <= 92500 and not 92401 <= machine.cudnn <= 92499
    disabled = broken and machine.major in (10, 11)
    return not disabled or call.surely_fails(call.query.shape[2] == 1)


@rule("training with 64 keys modulo 128", "check_cudnn_tensor_shapes")
def keys_64_mod_128(call: Call, machine: Machine) -> bool:
    """Refuse, in 2.15, the calls with a faulty backward in cuDNN before 9.26 on sm90."""
    if machine.cudnn >= 92600 or machine.capability != _HOPPER or not call.needs_grad:
        return True
    return call.causal or not call.surely_holds(call.key.shape[2] % 128 == 64)


@rule("more than one position", "check_cudnn_tensor_shapes")
def positions(call: Call, machine: Machine) -> bool:
    """Require more than one key; with dropout, also more than one query."""
    if not call.surely_fails(call.key.shape[2] == 1):
        return False
    return not call.dropout or call.surely_fails(call.query.shape[2] == 1)
