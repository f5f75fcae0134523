"""Trace ordinary CPU code as if it ran on the target: each input is a fake tensor on ``cuda:0``.

Dynamo sees tensors of the target from the start, so `x.device`, decompositions, autograd and
Inductor's passes have the same results as on the GPU. A *factory* is a function such as
``torch.zeros`` that makes a tensor. Without ``device=`` a factory makes its tensor on the target,
as under ``torch.set_default_device("cuda")``. A single number (``torch.tensor(8.0)``) stays on the
CPU, because in a program for a GPU, too, operations accept such a number beside tensors of the GPU.
With `move_numbers`, single numbers are moved as well.
"""

from __future__ import annotations

import contextvars
import dataclasses
import itertools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

DEVICE = torch.device("cuda", 0)
_moves_inputs: contextvars.ContextVar[bool] = contextvars.ContextVar("moving", default=False)


@contextmanager
def tracing_on_target(
    *, move_numbers: bool = False, cpu_factories: frozenset[int] = frozenset()
) -> Iterator[None]:
    """Let Dynamo trace tensors of the target during the block.

    `cpu_factories` are the calls of factories without ``device=``, numbered from 0 in the order of
    tracing, whose tensors stay on the CPU.
    """
    from torch._dynamo.variables import builder
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch._subclasses.meta_utils import MetaTensorDescriber

    with ExitStack() as stack:
        wrap = _mark_numbers(builder.wrap_to_fake_tensor_and_record)
        stack.enter_context(mock.patch.object(builder, "wrap_to_fake_tensor_and_record", wrap))
        for cls, name, wrap in (
            (FakeTensorMode, "from_tensor", _wrap_from_tensor),
            (FakeTensorMode, "dispatch", _wrap_dispatch),
            (MetaTensorDescriber, "describe_tensor", _wrap_describe_tensor),
        ):
            patch = mock.patch.object(cls, name, wrap(getattr(cls, name)))
            stack.enter_context(patch)
        stack.enter_context(
            making_tensors_on_target(move_numbers=move_numbers, cpu_factories=cpu_factories)
        )
        yield


@contextmanager
def making_tensors_on_target(
    *, move_numbers: bool = False, cpu_factories: frozenset[int] = frozenset()
) -> Iterator[None]:
    """Make tensors on the target during the block where no ``device=`` is given."""
    from torch._dynamo.output_graph import SubgraphTracer

    create_proxy = _wrap_create_proxy(SubgraphTracer.create_proxy, move_numbers, cpu_factories)
    with mock.patch.object(SubgraphTracer, "create_proxy", create_proxy):
        yield


def _mark_numbers(original: Any) -> Any:
    """Wrap Dynamo's function that makes a fake tensor. The wrapper marks the numbers that Dynamo
    turns into tensors (a float under ``dynamic=True``), because these stay on the CPU. It also
    keeps a copy of each input's metadata, because a write to the input in the graph changes the
    metadata.
    """

    def wrap(value: Any, *args: Any, is_tensor: bool, **kwargs: Any) -> Any:
        if not is_tensor and isinstance(value, torch.Tensor):
            value._tclab_number = True
        fake = original(value, *args, is_tensor=is_tensor, **kwargs)
        if type(fake) is FakeTensor:
            fake._tclab_unwritten = fake._version, _same_tensor(fake)
        return fake

    return wrap


def _same_tensor(fake: FakeTensor) -> torch.Tensor:
    """Return another tensor with the storage and the metadata of `fake`."""
    with fake.fake_mode:
        return fake.detach().requires_grad_(fake.requires_grad)


def _input_before_writes(fake: Any) -> Any:
    """Return an input with the metadata from before Dynamo traced the graph. A write in the graph
    can change the input's shape, or make the input require a gradient.
    """
    version, unwritten = getattr(fake, "_tclab_unwritten", (None, fake))
    return fake if version == getattr(fake, "_version", None) else unwritten


def _is_number(value: Any) -> bool:
    return getattr(value, "_tclab_number", False)


def _wrap_from_tensor(original: Any) -> Any:
    """Wrap `from_tensor` to move inputs, parameters and buffers to the target, but not constants
    that are made while tracing.
    """

    def from_tensor(self: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        token = _moves_inputs.set(not _is_number(tensor))
        try:
            return original(self, tensor, *args, **kwargs)
        finally:
            _moves_inputs.reset(token)

    return from_tensor


def _wrap_dispatch(original: Any) -> Any:
    """Wrap the dispatch to lift a marked constant to the target. PyTorch itself would lift a copy,
    which lacks the mark.
    """
    lifts = (torch.ops.aten.lift_fresh.default, torch.ops.aten.lift_fresh_copy.default)

    def dispatch(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in lifts and is_marked_for_target(args[0]):
            return self.fake_tensor_converter.from_real_tensor(self, args[0])
        return original(self, func, types, args, kwargs)

    return dispatch


def _wrap_describe_tensor(original: Any) -> Any:
    """Wrap `describe_tensor`, so that it describes a CPU tensor as a tensor of the target if inputs
    are moved to the target, or if the tensor is marked for the target.
    """

    def describe_tensor(self: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        description = original(self, tensor, *args, **kwargs)
        if description.device.type == "cpu" and (
            _moves_inputs.get() or is_marked_for_target(tensor)
        ):
            return dataclasses.replace(description, device=DEVICE)
        return description

    return describe_tensor


def mark_for_target(constant: torch.Tensor) -> None:
    """Mark a CPU tensor as a constant that becomes a tensor of the target when it is traced."""
    constant._tclab_on_target = True


def is_marked_for_target(value: Any) -> bool:
    """Return whether `mark_for_target` was called with this value."""
    return getattr(value, "_tclab_on_target", False)


def _wrap_create_proxy(original: Any, move_numbers: bool, cpu_factories: frozenset[int]) -> Any:
    from torch.utils._device import _device_constructors

    constructors, numbers = _device_constructors(), itertools.count()

    def create_proxy(
        self: Any, kind: str, target: Any, args: Any, kwargs: Any, *rest: Any, **options: Any
    ) -> Any:
        if kind == "call_method" and target == "cuda":
            target, args, kwargs = "to", (args[0], DEVICE), {}
        is_factory = kind == "call_function" and target in constructors
        moves = is_factory and (move_numbers or not _makes_scalar_tensor(target, args))
        if not moves or kwargs.get("device") is not None:
            return original(self, kind, target, args, kwargs, *rest, **options)
        if (number := next(numbers)) not in cpu_factories:
            kwargs = {**kwargs, "device": DEVICE}
        proxy = original(self, kind, target, args, kwargs, *rest, **options)
        proxy.node.meta[_FACTORY_NUMBER] = number
        return proxy

    return create_proxy


#: Key in a node's meta: this call's number among the factories without ``device=``.
_FACTORY_NUMBER = "tclab_made"


def find_factories_moved_to_target(module: fx.GraphModule) -> frozenset[int]:
    """Return the numbers of the factories whose tensors the graph itself moves to the target, as in
    ``torch.arange(n).to(x.device)``. On a real GPU the program makes these tensors on the CPU.
    """
    moves = [node for node in module.graph.nodes if _moves_to_target(node)]
    factories = [_factories_behind(node.args[0]) for node in moves]
    return frozenset().union(*(numbers for numbers in factories if numbers))


def _moves_to_target(node: fx.Node) -> bool:
    """Return whether a node is ``x.to(device)`` with the target as the device."""
    if node.op != "call_method" or node.target != "to":
        return False
    arguments = [*node.args[1:], node.kwargs.get("device")]
    return any(replace_target_by_cpu(a) != a for a in arguments if not isinstance(a, fx.Node))


def _factories_behind(node: Any) -> frozenset[int] | None:
    """Return the numbers of the factories from whose tensors a node is computed; None if an input
    takes part.
    """
    numbers: set[int] = set()
    seen: set[fx.Node] = set()
    stack = [node]
    while stack:
        source = stack.pop()
        if source in seen:
            continue
        seen.add(source)
        is_tensor = isinstance(source.meta.get("example_value"), torch.Tensor)
        if _FACTORY_NUMBER in source.meta:
            numbers.add(source.meta[_FACTORY_NUMBER])
        elif is_tensor and not source.all_input_nodes:
            return None
        stack += source.all_input_nodes
    return frozenset(numbers)


_DATA_FACTORIES = (torch.tensor, torch.as_tensor, torch.scalar_tensor)
_SIZE_FACTORIES = (torch.zeros, torch.ones, torch.full)
_NUMBERS = (bool, int, float, complex, torch.SymBool, torch.SymInt, torch.SymFloat)


def _makes_scalar_tensor(target: object, args: Any) -> bool:
    """Return whether a factory makes a tensor without dimensions from a number in its arguments."""
    first = args[0] if args else None
    if isinstance(first, fx.Proxy):
        first = first.node.meta.get("example_value")
    if target in _DATA_FACTORIES:
        return isinstance(first, _NUMBERS)
    return target in _SIZE_FACTORIES and isinstance(first, (tuple, list)) and not first


# ------------------------------------------------------------------------------ back to the CPU


#: Calls in a graph that select the GPU's attention kernels, which the CPU does not have.
_SDPA_SWITCHES = {torch.nn.attention._sdpa_kernel, torch.nn.attention._sdpa_kernel_variadic}


def copy_for_cpu(module: fx.GraphModule) -> fx.GraphModule:
    """Copy a Dynamo graph for a run on the CPU. Nodes that name the target name the CPU in the
    copy.
    """
    copy = copy_graph_module(module)
    for node in list(copy.graph.nodes):
        if node.target in _SDPA_SWITCHES:
            copy.graph.erase_node(node)
            continue
        node.args = replace_target_by_cpu(node.args)
        node.kwargs = replace_target_by_cpu(node.kwargs)
        if node.op == "call_method" and node.target == "cuda":
            node.target, node.args, node.kwargs = "cpu", node.args[:1], {}
        if node.op == "get_attr":
            inner = getattr(copy, str(node.target), None)
            if isinstance(inner, fx.GraphModule):
                setattr(copy, str(node.target), copy_for_cpu(inner))
    copy.recompile()
    return copy


def copy_graph_module(module: fx.GraphModule) -> fx.GraphModule:
    """Copy a graph module. The copy shares the parameters, and a change of the copy leaves `module`
    alone.

    The copy also has Dynamo's attributes, which tell AOTAutograd which inputs are parameters:
    saving a parameter for the backward costs nothing.
    """
    copy = fx.GraphModule(module, _copy_graph(module.graph))
    copy.meta = dict(module.meta)
    _copy_attribute(copy, module, "_param_name_to_source")
    return copy


def _copy_attribute(copy: object, original: object, name: str) -> None:
    if hasattr(original, name):
        setattr(copy, name, getattr(original, name))


def _copy_graph(graph: fx.Graph) -> fx.Graph:
    copy = fx.Graph()
    values: dict[fx.Node, fx.Node] = {}
    output = copy.graph_copy(graph, values)
    copy.output(output)
    for node, node_copy in values.items():
        _copy_attribute(node_copy, node, "_dynamo_source")
    return copy


def replace_target_by_cpu(value: Any) -> Any:
    """Return a node's argument with the CPU in place of the target."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return "cpu"
    if isinstance(value, (list, tuple)):
        items = [replace_target_by_cpu(v) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {k: replace_target_by_cpu(v) for k, v in value.items()}
    return value


def fake_inputs(module: fx.GraphModule, inputs: list[Any]) -> list[Any]:
    """Return the graph's inputs as Dynamo traced them. Tensors are fake tensors of the target;
    symbols and numbers are those in `inputs`. A tensor that Dynamo made of a number stays real, as
    for Inductor, because the next trace reads its value.
    """
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    return [
        _input_before_writes(node.meta["example_value"])
        if isinstance(real, torch.Tensor) and not _is_number(real)
        else real
        for node, real in zip(placeholders, inputs)
    ]
