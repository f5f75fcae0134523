"""Ask PyTorch itself which attention backend it chooses, to check the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

from tclab.capturing.target.sdpa.call import NUMBERS, Call

_BACKEND_NAMES = {number: name for name, number in NUMBERS.items()} | {-1: "error"}


def ask_torch(call: Call) -> str:
    """Return the name of the backend that PyTorch chooses for tensors on this machine's GPU."""
    return _ask_choice(torch._fused_sdp_choice, call)


def ask_cuda_choice(call: Call) -> str:
    """Return the name of the backend that ``_fused_sdp_choice``'s CUDA kernel chooses; tensors may
    be fake.
    """
    cuda = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
    operator = torch.ops.aten._fused_sdp_choice.default
    return _ask_choice(lambda *a, **k: operator.redispatch(cuda, *a, **k), call)


def _ask_choice(choice: Callable[..., Any], call: Call) -> str:
    try:
        number = choice(*call.inputs, call.mask, call.dropout, call.causal, enable_gqa=call.gqa)
    except RuntimeError as error:
        if "No available kernel" in str(error):
            return "error"
        raise
    return _BACKEND_NAMES[number]


def cudnn_version() -> int:
    """Return the version of cuDNN as ``cudnnGetVersion`` writes it (91900 for 9.19.0); 0 without
    cuDNN.
    """
    try:
        major, minor, patch = torch._C._cudnn.getRuntimeVersion()
    except (AttributeError, RuntimeError):
        return 0
    return int(major * 10000 + minor * 100 + patch)


def fake_mode(environment: ShapeEnv | None = None) -> FakeTensorMode:
    """Return a mode in which new tensors are fake, with symbolic sizes of `environment`."""
    return FakeTensorMode(shape_env=environment)


def make_size(environment: ShapeEnv, name: str, hint: int | None) -> Any:
    """Create a symbolic size: backed if it has a hint, else unbacked."""
    if hint is None:
        return environment.create_unbacked_symint()
    source = ConstantSource(name)
    new = environment.create_symbol(
        hint, source, dynamic_dim=DimDynamic.DYNAMIC, constraint_dim=None
    )
    return environment.create_symintnode(new, hint=hint)
