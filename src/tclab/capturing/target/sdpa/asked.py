"""PyTorch's own answer, for comparison. The private names of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

from tclab.capturing.target.sdpa.call import NUMBERS, Call

_NAMES = {number: name for name, number in NUMBERS.items()} | {-1: "error"}


def answer(call: Call) -> str:
    """The backend that PyTorch chooses for tensors on the GPU that is here."""
    return _answer(torch._fused_sdp_choice, call)


def compiled_answer(call: Call) -> str:
    """What the CUDA kernel of the choice says, also for fake tensors, which it does not see."""
    cuda = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
    operator = torch.ops.aten._fused_sdp_choice.default
    return _answer(lambda *a, **k: operator.redispatch(cuda, *a, **k), call)


def _answer(choice: Callable[..., Any], call: Call) -> str:
    try:
        number = choice(*call.inputs, call.mask, call.dropout, call.causal, enable_gqa=call.gqa)
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
    return int(major * 10000 + minor * 100 + patch)


def fake(environment: ShapeEnv | None = None) -> FakeTensorMode:
    """The mode in which tensors are fake, with sizes of the environment."""
    return FakeTensorMode(shape_env=environment)


def symbol(environment: ShapeEnv, name: str, hint: int | None) -> Any:
    """A new size, with a hint or unbacked."""
    if hint is None:
        return environment.create_unbacked_symint()
    source = ConstantSource(name)
    new = environment.create_symbol(
        hint, source, dynamic_dim=DimDynamic.DYNAMIC, constraint_dim=None
    )
    return environment.create_symintnode(new, hint=hint)
