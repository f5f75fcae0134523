"""Choose the kernel of scaled_dot_product_attention for a target as PyTorch's own rules do.

The rules are in `sdpa.versions`. PyTorch's own C++ gets the number of the chosen backend and does
the rest: it pads, converts masks and calls the backend's operator.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
from torch._C import DispatchKey
from torch._subclasses.fake_tensor import FakeTensorMode

from tclab.capturing.target.chooser import NAME, AttentionChooser
from tclab.capturing.target.refusals import remember_errors
from tclab.capturing.target.sdpa import versions
from tclab.capturing.target.sdpa.call import CUDNN_FIRST, NUMBERS, Call
from tclab.capturing.torch_private import attention_choice
from tclab.targets import Target

_choosers: list[AttentionChooser] = []


@contextmanager
def choosing_attention_for(target: Target) -> Iterator[None]:
    """Choose attention kernels within the block as on `target`, for all calls of attention.

    `run_attention` replaces two kernels of the composite operator in the dispatcher: autograd's for
    CUDA, and the decomposition, which runs without autograd.
    """
    chooser = AttentionChooser(target, versions.rules_for(torch.__version__))
    with ExitStack() as stack:
        stack.enter_context(_setting_first_call_order(chooser))
        stack.enter_context(attention_choice.answer_with(chooser.current_answer))
        stack.enter_context(_replacing_sdpa(run_attention))
        for name, backend in _CAN_USE_FUNCTIONS.items():
            replacement = remember_errors(_wrap_can_use(getattr(torch._C, name), backend))
            stack.enter_context(mock.patch.object(torch._C, name, replacement))
        _choosers.append(chooser)
        stack.callback(_choosers.pop)
        yield


@contextmanager
def _setting_first_call_order(chooser: AttentionChooser) -> Iterator[None]:
    """Set the order of backends for the block, as PyTorch does at the first call in a process
    (sdp_utils.cpp: priority_order).
    """
    saved, version = torch._C._get_sdp_priority_order(), chooser.version
    is_deprioritized = os.environ.get("TORCH_CUDNN_SDPA_DEPRIORITIZED") == "1"
    if version and version.prefers_cudnn(chooser.machine()) and not is_deprioritized:
        torch._C._set_sdp_priority_order([NUMBERS[name] for name in CUDNN_FIRST])
    try:
        yield
    finally:
        torch._C._set_sdp_priority_order(saved)


@contextmanager
def _replacing_sdpa(function: Any) -> Iterator[None]:
    operator = torch.ops.aten.scaled_dot_product_attention.default
    library = torch.library.Library("aten", "IMPL")
    kernels = dict(operator.py_kernels)
    try:
        library.impl(NAME, function, "AutogradCUDA")
        operator.py_kernels[DispatchKey.CompositeImplicitAutograd] = function
        _clear_dispatch_caches()
        yield
    finally:
        library._destroy()
        operator.py_kernels.clear()
        operator.py_kernels.update(kernels)
        _clear_dispatch_caches()


def _clear_dispatch_caches() -> None:
    """Clear the caches of values that were traced for another target."""
    torch.ops.aten.scaled_dot_product_attention.default._dispatch_cache.clear()
    FakeTensorMode.cache_clear()


@remember_errors
def run_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Call scaled_dot_product_attention with the target's kernel. Raises TargetError if it is not
    known.
    """
    call = Call(query, key, value, attn_mask, dropout_p, is_causal, enable_gqa)
    operator = torch.ops.aten.scaled_dot_product_attention.default
    chooser = _choosers[-1]
    chooser.answers.append(_backend_number(chooser, call) if query.device.type == "cuda" else -1)
    try:
        composite = DispatchKey.CompositeImplicitAutograd
        arguments = (*call.inputs, attn_mask, dropout_p, is_causal)
        return operator._op_dk(composite, *arguments, scale=scale, enable_gqa=enable_gqa)
    finally:
        chooser.answers.pop()


def _backend_number(chooser: AttentionChooser, call: Call) -> int:
    choice = chooser.choose(call)
    if choice.backend == "error":
        # the text of PyTorch's own error
        raise RuntimeError("No available kernel. Aborting execution.")
    return NUMBERS[choice.backend]


#: Functions behind torch.backends.cuda.can_use_… → the backend that each asks about.
_CAN_USE_FUNCTIONS = {
    "_can_use_flash_attention": "flash",
    "_can_use_mem_efficient_attention": "efficient",
    "_can_use_cudnn_attention": "cudnn",
}


def _wrap_can_use(original: Callable[..., bool], backend: str) -> Callable[..., bool]:
    def can_use(params: Any, debug: bool = False) -> bool:
        if params.query.device.type != "cuda":
            return original(params, debug)
        mask, gqa = params.attn_mask, params.enable_gqa
        inputs = (params.query, params.key, params.value)
        return _choosers[-1].allows(
            Call(*inputs, mask, params.dropout, params.is_causal, gqa), backend
        )

    return can_use
