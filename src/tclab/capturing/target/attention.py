"""Which kernel scaled_dot_product_attention gets on a target: by PyTorch's own rules.

The rules are `sdpa.versions`. Only the choice is made here: padding, masks and the call of the
chosen operator are PyTorch's own C++, which asks for a number and goes on.
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

from tclab.capturing.target.chooser import NAME, Chooser
from tclab.capturing.target.refusals import loud
from tclab.capturing.target.sdpa import versions
from tclab.capturing.target.sdpa.call import CUDNN_FIRST, NUMBERS, Call
from tclab.capturing.torch_private import attention_choice
from tclab.targets import Target

_choosers: list[Chooser] = []


@contextmanager
def chosen_for(target: Target) -> Iterator[None]:
    """For the length of the block, attention on a GPU is chosen as on `target`, whoever calls it.

    The tensors are seen in the dispatcher, above the composite operator: in the place of its
    autograd for CUDA, and of its decomposition, which is used without autograd.
    """
    chooser = Chooser(target, versions.of(torch.__version__))
    with ExitStack() as stack:
        stack.enter_context(_order_of_the_first_call(chooser))
        stack.enter_context(attention_choice.answered_by(chooser.number))
        stack.enter_context(_seen_by(attention))
        for name, backend in _QUESTIONS.items():
            own = loud(_can_use(getattr(torch._C, name), backend))
            stack.enter_context(mock.patch.object(torch._C, name, own))
        _choosers.append(chooser)
        stack.callback(_choosers.pop)
        yield


@contextmanager
def _order_of_the_first_call(chooser: Chooser) -> Iterator[None]:
    """sdp_utils.cpp: priority_order. The first call in a process may set another order."""
    before, version = torch._C._get_sdp_priority_order(), chooser.version
    last = os.environ.get("TORCH_CUDNN_SDPA_DEPRIORITIZED") == "1"
    if version and version.prefers_cudnn(chooser.machine()) and not last:
        torch._C._set_sdp_priority_order([NUMBERS[name] for name in CUDNN_FIRST])
    try:
        yield
    finally:
        torch._C._set_sdp_priority_order(before)


@contextmanager
def _seen_by(function: Any) -> Iterator[None]:
    operator = torch.ops.aten.scaled_dot_product_attention.default
    library = torch.library.Library("aten", "IMPL")
    kernels = dict(operator.py_kernels)
    try:
        library.impl(NAME, function, "AutogradCUDA")
        operator.py_kernels[DispatchKey.CompositeImplicitAutograd] = function
        _forget()
        yield
    finally:
        library._destroy()
        operator.py_kernels.clear()
        operator.py_kernels.update(kernels)
        _forget()


def _forget() -> None:
    """What was traced for another target is not taken again."""
    torch.ops.aten.scaled_dot_product_attention.default._dispatch_cache.clear()
    FakeTensorMode.cache_clear()


@loud
def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """scaled_dot_product_attention with the kernel the target takes; TargetError if unknown."""
    call = Call(query, key, value, attn_mask, dropout_p, is_causal, enable_gqa)
    operator = torch.ops.aten.scaled_dot_product_attention.default
    chooser = _choosers[-1]
    chooser.answers.append(_number(chooser, call) if query.device.type == "cuda" else -1)
    try:
        composite = DispatchKey.CompositeImplicitAutograd
        arguments = (*call.inputs, attn_mask, dropout_p, is_causal)
        return operator._op_dk(composite, *arguments, scale=scale, enable_gqa=enable_gqa)
    finally:
        chooser.answers.pop()


def _number(chooser: Chooser, call: Call) -> int:
    choice = chooser.choose(call)
    if choice.backend == "error":
        raise RuntimeError("No available kernel. Aborting execution.")  # as PyTorch says it
    return NUMBERS[choice.backend]


#: Questions that PyTorch's own Python asks (torch.backends.cuda.can_use_…), and which backend.
_QUESTIONS = {
    "_can_use_flash_attention": "flash",
    "_can_use_mem_efficient_attention": "efficient",
    "_can_use_cudnn_attention": "cudnn",
}


def _can_use(original: Callable[..., bool], backend: str) -> Callable[..., bool]:
    def can_use(params: Any, debug: bool = False) -> bool:
        if params.query.device.type != "cuda":
            return original(params, debug)
        mask, gqa = params.attn_mask, params.enable_gqa
        inputs = (params.query, params.key, params.value)
        return _choosers[-1].allows(
            Call(*inputs, mask, params.dropout, params.is_causal, gqa), backend
        )

    return can_use
