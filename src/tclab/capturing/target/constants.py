"""Values that a compile on the GPU makes there: made on the CPU, and called the target's.

Inductor folds tensors of one value (``torch.zeros(n) + 1``) by running the operators on the
device. Those whose result IEEE 754 fixes give the same bits on the CPU; others are refused.
``torch.tensor([1.0, 2.0])`` in a function becomes a constant of the graph on the device.
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
from tclab.capturing.target.refusals import loud
from tclab.targets import TargetError

P = ParamSpec("P")
R = TypeVar("R")

#: Operators with one right answer: data movement, comparisons, and what IEEE 754 rounds exactly.
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


class _ValuesOnCPU(TorchDispatchMode):
    """Computes on the CPU what was meant for the target."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        move = tracing.devices_to_cpu
        return func(*move(args), **move(kwargs or {}))


class _OnCPU(_ValuesOnCPU):
    """The same, for operators with one right answer."""

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
def folded_on_cpu() -> Iterator[None]:
    """For the length of the block, Inductor's folding of uniform values runs on the CPU, and so
    does what tracing computes of a single number's value.
    """
    from torch._inductor.fx_passes.joint_graph import UniformValueConstantFolder as Folder
    from torch._inductor.graph import GraphLowering
    from torch.fx.experimental import proxy_tensor

    with ExitStack() as stack:
        values = _values_on_cpu(proxy_tensor.unset_fake_temporarily)
        stack.enter_context(mock.patch.object(proxy_tensor, "unset_fake_temporarily", values))
        own = _get_attr(GraphLowering.get_attr)
        stack.enter_context(mock.patch.object(GraphLowering, "get_attr", own))
        for name in ("__init__", "run"):
            patch = mock.patch.object(Folder, name, _within(getattr(Folder, name)))
            stack.enter_context(patch)
        yield


def _values_on_cpu(original: Callable[[], Any]) -> Callable[[], Any]:
    @contextmanager
    def values() -> Iterator[Any]:
        with original() as mode, _ValuesOnCPU():
            yield mode

    return values


def _within(original: Callable[P, R]) -> Callable[P, R]:
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with _OnCPU():
            return original(*args, **kwargs)

    return run


# ------------------------------------------------------------------------------ torch.tensor


def constants_on_target(module: fx.GraphModule) -> None:
    """Let ``torch.tensor(numbers)`` make a constant of the target's when the graph is traced, and
    ``x[[0, 2]]`` an index of the target's.
    """
    for inner in module.modules():
        if not isinstance(inner, fx.GraphModule):
            continue
        for node in list(inner.graph.nodes):
            literal = node.op == "call_function" and not node.all_input_nodes
            device = node.kwargs.get("device") if literal else None
            makes = node.target in (torch.tensor, torch.as_tensor)
            if makes and device and torch.device(device).type == "cuda":
                node.target = constant
            elif node.target in (operator.getitem, operator.setitem) and _is_there(node.args[0]):
                _index_on_target(node)
        inner.recompile()


def _is_there(node: Any) -> bool:
    value = node.meta.get("example_value") if isinstance(node, fx.Node) else None
    return isinstance(value, torch.Tensor) and value.device.type == "cuda"


def _index_on_target(node: fx.Node) -> None:
    """Make the index tensors of ``x[..., [-2], :]`` where PyTorch makes them: on x's device. In C++
    it copies a tensor of the CPU there, which cannot be done for a device that is not there.
    """

    def tensor(part: Any) -> Any:
        if not _is_numbers(part):
            return part
        with node.graph.inserting_before(node):
            dtype = torch.bool if part and isinstance(part[0], bool) else torch.long
            made = node.graph.call_function(constant, (list(part),), {"dtype": dtype})
        made.meta["stack_trace"] = node.meta.get("stack_trace")
        return made

    index = node.args[1]
    own = tuple(map(tensor, index)) if isinstance(index, tuple) else tensor(index)
    node.args = (node.args[0], own, *node.args[2:])


def _is_numbers(part: Any) -> bool:
    return isinstance(part, list) and all(isinstance(number, int) for number in part)


@loud
def constant(
    data: Any,
    *,
    dtype: torch.dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> torch.Tensor:
    """``torch.tensor`` as it goes where the device exists: made at once, then lifted."""
    with torch.utils._python_dispatch._disable_current_modes():
        value = torch.tensor(data, dtype=dtype)
    tracing.mark(value)
    return torch.ops.aten.lift_fresh.default(value).requires_grad_(requires_grad)


class _There(torch.Tensor):
    """A constant on the CPU that says it is on the target."""

    device = tracing.DEVICE


def _get_attr(original: Callable[..., R]) -> Callable[..., R]:
    def get_attr(self: Any, target: str, args: object, kwargs: object) -> R:
        owner, _, name = target.rpartition(".")
        owner = self.module.get_submodule(owner)
        value = getattr(owner, name)
        if tracing.marked(value) and not isinstance(value, _There):
            setattr(owner, name, value.as_subclass(_There))
        return original(self, target, args, kwargs)

    return get_attr
