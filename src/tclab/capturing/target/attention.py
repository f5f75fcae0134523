"""Which kernel scaled_dot_product_attention gets on a target, where that was measured.

PyTorch asks the GPU, its cuDNN and the inputs (aten/src/ATen/native/transformers/cuda/
sdp_utils.cpp). The answers below were read with ``torch._fused_sdp_choice`` on the device;
what was not asked there is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from tclab.capturing.target.places import being_traced
from tclab.capturing.target.refusals import loud
from tclab.targets import Target, TargetError

_HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Measured:
    """Answers of one PyTorch on one capability: dtype → operator, and the shapes asked about.

    `head_dims` multiples of 8 up to the number; `lengths` sequence lengths, both ends included.
    Asked with four dimensions, equal shapes, no mask, no dropout, causal or not, with and
    without gradients.
    """

    operators: dict[torch.dtype, str]
    head_dims: int
    lengths: tuple[int, int]


#: (torch version, compute capability) → what was measured.
MEASURED = {
    ((2, 11), (9, 0)): Measured(
        {**dict.fromkeys(_HALF, "cudnn"), torch.float32: "efficient"}, 256, (2, 8192)
    ),
}

_target: list[Target] = []


@contextmanager
def chosen_for(target: Target) -> Iterator[None]:
    """For the length of the block, attention on a GPU is chosen as on `target`, whoever calls it.

    The choice sits in the dispatcher, above the composite operator: in the place of its autograd
    for CUDA, and of its decomposition, which is used without autograd.
    """
    from torch._C import DispatchKey

    operator = torch.ops.aten.scaled_dot_product_attention.default
    library = torch.library.Library("aten", "IMPL")
    kernels = dict(operator.py_kernels)
    _target.append(target)
    try:
        library.impl("scaled_dot_product_attention", attention, "AutogradCUDA")
        operator.py_kernels[DispatchKey.CompositeImplicitAutograd] = attention
        operator._dispatch_cache.clear()
        yield
    finally:
        _target.pop()
        library._destroy()
        operator.py_kernels.clear()
        operator.py_kernels.update(kernels)
        operator._dispatch_cache.clear()


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
    why = _unknown(query, key, value, attn_mask, dropout_p, enable_gqa)
    if why:
        raise refusal(why)
    inputs = (query, key, value)
    grad = torch.is_grad_enabled() and any(t.requires_grad for t in inputs)
    if _measured().operators[query.dtype] == "cudnn":  # type: ignore[union-attr]
        cudnn = torch.ops.aten._scaled_dot_product_cudnn_attention
        return cudnn(*inputs, None, grad, dropout_p, is_causal, False, scale=scale)[0]
    efficient = torch.ops.aten._scaled_dot_product_efficient_attention
    return efficient(*inputs, None, grad, dropout_p, is_causal, scale=scale)[0]


def refusal(why: str) -> TargetError:
    """The error for attention whose kernel is not known."""
    return TargetError(
        f"scaled_dot_product_attention, {being_traced()}",
        f"PyTorch picks its kernel by the GPU, its libraries and the inputs; {why}",
        "write it out, softmax(q @ k.mT) @ v, with options={'pattern_matcher': False} if Inductor "
        "fuses that; or capture on the GPU",
    )


def _measured() -> Measured | None:
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    return MEASURED.get((version, _target[-1].capability))  # type: ignore[arg-type]


def _unknown(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
             mask: Any, dropout: float, gqa: bool) -> str:  # fmt: skip
    """Why the kernel is not known, or ''."""
    known = _measured()
    if known is None:
        return f"not measured for torch {torch.__version__} on sm_{_target[-1].arch}"
    if mask is not None or dropout or gqa:
        return "not measured with a mask, dropout or grouped queries"
    if not _all_enabled():
        return "a backend is switched off"
    if query.dtype not in known.operators or len({t.dtype for t in (query, key, value)}) > 1:
        return f"not measured for {query.dtype}"
    return _unknown_shape(query, key, value, known)


def _unknown_shape(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                   known: Measured) -> str:  # fmt: skip
    sizes = [size for t in (query, key, value) for size in t.shape]
    if not all(isinstance(size, int) for size in sizes):
        return "not measured for symbolic sizes"
    if query.dim() != 4 or not query.shape == key.shape == value.shape:
        return "not measured for other than four dimensions and equal shapes"
    length, width = query.shape[-2:]
    low, high = known.lengths
    if width % 8 or not 8 <= width <= known.head_dims or not low <= length <= high:
        return f"not measured for {length} positions of {width} numbers"
    if any(t.stride(-1) != 1 for t in (query, key, value)):
        return "not measured for a last dimension that is not contiguous"
    return ""


def _all_enabled() -> bool:
    cuda = torch.backends.cuda
    return (cuda.flash_sdp_enabled() and cuda.mem_efficient_sdp_enabled()
            and cuda.math_sdp_enabled() and cuda.cudnn_sdp_enabled())  # fmt: skip
