"""The conditions that only cuDNN's attention has (cuda/sdp_utils.cpp: check_cudnn_…)."""

from __future__ import annotations

from tclab.capturing.target.sdpa.call import Call, Machine

_HOPPER = (9, 0)


def prefers_cudnn(machine: Machine) -> bool:
    """check_prefer_cudnn_attention of a build for CUDA 13: cuDNN after 9.15, sm9x or sm10x."""
    return machine.cudnn > 91500 and machine.major in (9, 10)


def present(call: Call, machine: Machine) -> bool:
    """can_use_cudnn_attention: cuDNN 9 or later; without dropout from 9.11 to 9.13."""
    return machine.cudnn >= 90000 and not (call.dropout > 0 and 91100 < machine.cudnn < 91400)


def deterministic(call: Call, machine: Machine) -> bool:
    """check_cudnn_deterministic: not under use_deterministic_algorithms."""
    return not machine.deterministic


def hardware_support(call: Call, machine: Machine) -> bool:
    """check_cudnn_hardware_support: sm80 to sm121."""
    return machine.between((8, 0), (12, 1))


def dropout(call: Call, machine: Machine) -> bool:
    """check_cudnn_dropout: a probability that is a multiple of 1/16."""
    return (call.dropout * 16).is_integer()


def batch_and_heads(call: Call, machine: Machine) -> bool:
    """check_cudnn_tensor_shapes: at most 65535 of each."""
    batch, heads = call.query.shape[0], call.query.shape[1]
    return call.all(lambda: batch <= 65535, lambda: heads <= 65535)


def head_sizes(call: Call, machine: Machine) -> bool:
    """check_cudnn_tensor_shapes of 2.11 to 2.13: multiples of 8, to 128, 192 or 256."""
    limit = 128
    if machine.cudnn >= 91000 and machine.capability == _HOPPER:
        limit = 256
    q, v = call.query.shape[3], call.value.shape[3]
    blackwell = machine.cudnn >= 91100 and machine.major == 10
    if blackwell and call.all(lambda: q == 192, lambda: v == 128):
        limit = 192
    return call.all(lambda: q <= limit, lambda: v <= limit, lambda: q % 8 == 0, lambda: v % 8 == 0)


def positions(call: Call, machine: Machine) -> bool:
    """check_cudnn_tensor_shapes: more than one key; with dropout, more than one query."""
    if not call.sure(call.key.shape[2] != 1):
        return False
    return not call.dropout or call.sure(call.query.shape[2] != 1)
