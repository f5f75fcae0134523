"""PyTorch's own answer, for comparison. The private names of it."""

from __future__ import annotations

import torch

from tclab.capturing.target.sdpa.call import NUMBERS, Call

_NAMES = {number: name for name, number in NUMBERS.items()} | {-1: "error"}


def answer(call: Call) -> str:
    """The backend that PyTorch chooses for tensors on the GPU that is here."""
    try:
        number = torch._fused_sdp_choice(
            *call.inputs, call.mask, call.dropout, call.causal, enable_gqa=call.gqa
        )
    except RuntimeError as error:
        if "No available kernel" in str(error):
            return "error"
        raise
    return _NAMES[number]


def cudnn_version() -> int:
    """The cuDNN in use, as ``cudnnGetVersion`` writes it; 0 where there is none."""
    try:
        major, minor, patch = torch._C._cudnn.getRuntimeVersion()
    except (AttributeError, RuntimeError):
        return 0
    return major * 10000 + minor * 100 + patch
