"""Compute on the CPU the constants that a compile on a GPU computes on the GPU.

Inductor folds tensors of one value (``torch.zeros(n) + 1``) by running the operators on the device.
Operators whose result IEEE 754 defines give the same bits on the CPU; other operators are refused.
``torch.tensor([1.0, 2.0])`` in a function becomes a constant of the graph, on the device.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, ParamSpec, TypeVar
from unittest import mock

import torch
from torch import fx
from torch.utils._python_dispatch import TorchDispatchMode

from tclab.capturing.target import tracing
from tclab.capturing.target.refusals import remember_errors
from tclab.targets import TargetError

P = ParamSpec("P")
R = TypeVar("R")

#: Operators with the same bits on each device: data movement, comparisons, and arithmetic that
#: IEEE 754 rounds exactly.
_EXACT = {
    "full", "full_like", "scalar_tensor", "zeros", "ones", "zeros_like", "ones_like", "empty",
    "new_zeros", "new_ones", "new_full", "fill", "clone", "_to_copy", "to", "lift_fresh_copy",
    "lift_fresh", "detach", "alias", "view", "reshape", "expand", "permute", "squeeze",
    "unsqueeze", "flatten", "select", "slice", "t", "as_strided", "device_put",
    "convert_element_type", "_local_scalar_dense", "item", "equal", "view_as", "iota",
    "add", "sub", "mul", "div", "neg", "abs", "sqrt", "reciprocal", "sign", "maximum", "minimum",
    "clamp", "clamp_min", "clamp_max", "where", "eq", "ne", "lt", "le", "gt", "ge",
    "logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or",
    "bitwise_not", "bitwise_xor", "floor", "ceil", "trunc", "round", "relu", "isnan", "isinf",
    "fmod", "remainder", "rsub", "masked_fill", "_unsafe_view", "copy", "broadcast_in_dim",
    "copy_", "positive", "square", "is_same_size", "empty_strided", "set_",
}  # fmt: skip


class _RunOnCPU(TorchDispatchMode):
    """A mode that runs operators on the CPU in place of the target."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        to_cpu = tracing.replace_target_by_cpu
        return func(*to_cpu(args), **to_cpu(kwargs or {}))


class _RunExactOnCPU(_RunOnCPU):
    """A mode that runs the operators in `_EXACT` on the CPU and raises TargetError for the
    others.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name not in _EXACT:
            raise TargetError(
                f"aten.{name}",
                "Inductor folds this into a constant on the GPU itself, and its "
                "last bit may differ there",
                "pass the constant in as an argument",
            )
        return super().__torch_dispatch__(func, types, args, kwargs)


@contextmanager
def folding_on_cpu() -> Iterator[None]:
    """Let Inductor fold uniform values on the CPU during the block. Tracing also computes single
    numbers on the CPU.
    """
    from torch._inductor.fx_passes.joint_graph import UniformValueConstantFolder as Folder
    from torch._inductor.graph import GraphLowering
    from torch.fx.experimental import proxy_tensor

    with ExitStack() as stack:
        unset_on_cpu = _wrap_unset_fake(proxy_tensor.unset_fake_temporarily)
        stack.enter_context(mock.patch.object(proxy_tensor, "unset_fake_temporarily", unset_on_cpu))
        get_attr = _wrap_get_attr(GraphLowering.get_attr)
        stack.enter_context(mock.patch.object(GraphLowering, "get_attr", get_attr))
        for name in ("__init__", "run"):
            patch = mock.patch.object(Folder, name, _wrap_exact(getattr(Folder, name)))
            stack.enter_context(patch)
        yield


def _wrap_unset_fake(original: Callable[[], Any]) -> Callable[[], Any]:
    @contextmanager
    def unset_on_cpu() -> Iterator[Any]:
        with original() as mode, _RunOnCPU():
            yield mode

    return unset_on_cpu


def _wrap_exact(original: Callable[P, R]) -> Callable[P, R]:
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with _RunExactOnCPU():
            return original(*args, **kwargs)

    return run


# ------------------------------------------------------------------------------ torch.tensor


def move_constants_to_target(module: fx.GraphModule) -> None:
    """Rewrite a Dynamo graph so that ``torch.tensor(numbers)`` makes a constant on the target when
    the graph is traced, and ``x[[0, 2]]`` makes an index tensor on the target.
    """
    for graph_module in module.modules():
        if not isinstance(graph_module, fx.GraphModule):
            continue
        for node in list(graph_module.graph.nodes):
            has_no_inputs = node.op == "call_function" and not node.all_input_nodes
            device = node.kwargs.get("device") if has_no_inputs else None
            is_constant = node.target in (torch.tensor, torch.as_tensor)
            if is_constant and device and torch.device(device).type == "cuda":
                node.target = constant
            elif node.target in (operator.getitem, operator.setitem) and _is_on_target(
                node.args[0]
            ):
                _index_on_target(node)
        graph_module.recompile()


def _is_on_target(node: Any) -> bool:
    value = node.meta.get("example_value") if isinstance(node, fx.Node) else None
    return isinstance(value, torch.Tensor) and value.device.type == "cuda"


def _index_on_target(node: fx.Node) -> None:
    """Make the index tensors of ``x[..., [-2], :]`` on the device of x. PyTorch's C++ would copy a
    CPU tensor to this device, which fails because the machine does not have the device.
    """

    def make_tensor(part: Any) -> Any:
        if not _is_number_list(part):
            return part
        with node.graph.inserting_before(node):
            dtype = torch.bool if part and isinstance(part[0], bool) else torch.long
            index_node = node.graph.call_function(constant, (list(part),), {"dtype": dtype})
        index_node.meta["stack_trace"] = node.meta.get("stack_trace")
        return index_node

    index = node.args[1]
    index = tuple(map(make_tensor, index)) if isinstance(index, tuple) else make_tensor(index)
    node.args = (node.args[0], index, *node.args[2:])


def _is_number_list(part: Any) -> bool:
    return isinstance(part, list) and all(isinstance(number, int) for number in part)


@remember_errors
def constant(
    data: Any,
    *,
    dtype: torch.dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> torch.Tensor:
    """Replace ``torch.tensor``: make the tensor at once and then lift it, as PyTorch does."""
    with torch.utils._python_dispatch._disable_current_modes():
        value = torch.tensor(data, dtype=dtype)
    tracing.mark_for_target(value)
    return torch.ops.aten.lift_fresh.default(value).requires_grad_(requires_grad)


@contextmanager
def making_constants_on_target() -> Iterator[None]:
    """Let PyTorch's own Python make its constants on the target while a graph is traced.

    Decompositions, and functions that Dynamo does not trace into (such as those of torch.masked),
    call ``torch.tensor(…, device=x.device)``. Unpatched, PyTorch would make the constant on the CPU
    and trace a copy to the target, which a GPU's graph does not have.
    """
    original = torch.tensor

    def tensor(data: Any, *, device: Any = None, **options: Any) -> torch.Tensor:
        if device is not None and torch.device(device).type == "cuda":
            return constant(data, device=device, **options)
        return original(data, device=device, **options)

    with mock.patch.object(torch, "tensor", tensor):
        yield


class _TargetConstant(torch.Tensor):
    """A CPU tensor whose `device` is the target."""

    device = tracing.DEVICE


def _wrap_get_attr(original: Callable[..., R]) -> Callable[..., R]:
    def get_attr(self: Any, target: str, args: object, kwargs: object) -> R:
        owner, _, name = target.rpartition(".")
        owner = self.module.get_submodule(owner)
        value = getattr(owner, name)
        if tracing.is_marked_for_target(value) and not isinstance(value, _TargetConstant):
            setattr(owner, name, value.as_subclass(_TargetConstant))
        return original(self, target, args, kwargs)

    return get_attr
