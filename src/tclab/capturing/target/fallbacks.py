"""Run operators without a meta kernel, which PyTorch runs on the device to learn the shapes of
their results.

The operators in `_CPU_REPLACEMENTS` return the shapes that PyTorch's source states. Any other
operator runs on the CPU instead, which is noted as a gap. An operator without a CPU kernel, or one
that returns an input, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch

from tclab.capturing.target import gaps, tracing
from tclab.capturing.target.refusals import remember_errors
from tclab.capturing.target.traced_lines import find_traced_line
from tclab.targets import TargetError


@contextmanager
def running_fallbacks_on_cpu() -> Iterator[None]:
    """Run operators without a meta kernel on the CPU during the block. On the target they would
    fail, and cause a graph break that a real GPU does not have.
    """
    from torch._subclasses import fake_impls, fake_tensor

    with ExitStack() as stack:
        for module in (fake_tensor, fake_impls):
            if hasattr(module, "run_fallback_kernel"):
                replacement = remember_errors(_wrap_fallback(module.run_fallback_kernel))
                stack.enter_context(mock.patch.object(module, "run_fallback_kernel", replacement))
        yield


def _wrap_fallback(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(mode: Any, operator: Any, flat_args: Any, spec: Any, error: Any) -> Any:
        devices = {getattr(getattr(a, "fake_device", None), "type", "") for a in flat_args}
        if "cuda" not in devices:
            return original(mode, operator, flat_args, spec, error)
        kernel = _CPU_REPLACEMENTS.get(str(operator), operator)
        try:
            real = _run_on_zeros(kernel, flat_args, spec)
        except Exception as cause:
            raise _refusal_error(operator) from cause
        if kernel is operator:
            gaps.note_gap(_guess_gap(operator))
        return _move_to_target(mode, real)

    return run


def _run_on_zeros(kernel: Callable[..., Any], flat_args: Any, spec: Any) -> Any:
    """Run a kernel on zeros of the inputs' shapes. Raises ValueError if it returns an input."""
    from torch.utils._mode_utils import no_dispatch
    from torch.utils._pytree import tree_leaves, tree_unflatten

    def zeros(value: Any) -> Any:
        return torch.zeros_like(value, device="cpu") if _is_tensor(value) else value

    with no_dispatch():
        inputs = [zeros(tracing.replace_target_by_cpu(value)) for value in flat_args]
        args, kwargs = tree_unflatten(inputs, spec)
        result = kernel(*args, **kwargs)
        storages = {_storage_id(value) for value in inputs if _is_tensor(value)}
        if any(_is_tensor(leaf) and _storage_id(leaf) in storages for leaf in tree_leaves(result)):
            raise ValueError("hands an input on")
    return result


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


def _storage_id(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _move_to_target(mode: Any, result: Any) -> Any:
    from torch.utils._pytree import tree_map_only

    def move(tensor: torch.Tensor) -> Any:
        tracing.mark_for_target(tensor)
        return mode.fake_tensor_converter.from_real_tensor(mode, tensor)

    return tree_map_only(torch.Tensor, move, result)


_NO_META_KERNEL = "it has no meta kernel: PyTorch runs it on the GPU to learn the shape it returns"


def _refusal_error(operator: object) -> TargetError:
    return TargetError(
        f"{operator}, {find_traced_line()}",
        _NO_META_KERNEL,
        "capture on the GPU; or give it one, torch.library.register_fake",
    )


def _guess_gap(operator: object) -> TargetError:
    return TargetError(
        f"{operator}, {find_traced_line()}",
        f"{_NO_META_KERNEL}; here its kernel for the CPU was asked, so the kernels around it are "
        "right if both return the same shapes and strides",
        "capture on the GPU to be sure",
    )


# --------------------------------------------------- aten/src/ATen/native/cuda/RNN.cu, 2.11 to 2.15


def _gru_cell(
    gates: torch.Tensor, hidden_gates: torch.Tensor, hx: torch.Tensor, *biases: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute _thnn_fused_gru_cell_cuda: return hy [batch, width] and the workspace [batch, 5
    width].
    """
    batch, width = hx.shape
    return torch.empty_like(hx, memory_format=torch.contiguous_format), hx.new_empty(
        batch, 5 * width
    )


def _gru_cell_backward(
    grad: torch.Tensor, workspace: torch.Tensor, has_bias: bool
) -> tuple[torch.Tensor | None, ...]:
    """Compute _thnn_fused_gru_cell_backward_cuda: return the gradients of both gates [batch, 3
    width], of hx [batch, width] and of both biases [3 width] (None without biases).
    """
    batch, width = grad.shape
    gates = [workspace.new_empty(batch, 3 * width) for _ in range(2)]
    biases = [workspace.new_empty(3 * width) if has_bias else None for _ in range(2)]
    return *gates, torch.empty_like(grad, memory_format=torch.contiguous_format), *biases


_CPU_REPLACEMENTS: dict[str, Callable[..., Any]] = {
    "aten._thnn_fused_gru_cell.default": _gru_cell,
    "aten._thnn_fused_gru_cell_backward.default": _gru_cell_backward,
}
