"""Trace ordinary CPU code as if it ran on the target: every input a fake tensor on ``cuda:0``.

Dynamo sees tensors of the target from the start, so `x.device`, decompositions, autograd and
Inductor's passes take the way they take there. Functions that make tensors without saying
where make them on the target, as under ``torch.set_default_device("cuda")``. A single number
(``torch.tensor(8.0)``) stays on the CPU, as in a program for a GPU, where it takes part in
operations with tensors of the GPU; `numbers_too` moves it as well.
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

DEVICE = torch.device("cuda", 0)
_moving: contextvars.ContextVar[bool] = contextvars.ContextVar("moving", default=False)


@contextmanager
def on_target(*, numbers_too: bool = False, stay: frozenset[int] = frozenset()) -> Iterator[None]:
    """For the length of the block, what Dynamo traces is on the target; but for what the factories
    in `stay` make, which are counted as they are traced.
    """
    from torch._dynamo.variables import builder
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch._subclasses.meta_utils import MetaTensorDescriber

    with ExitStack() as stack:
        wrap = _noting_numbers(builder.wrap_to_fake_tensor_and_record)
        stack.enter_context(mock.patch.object(builder, "wrap_to_fake_tensor_and_record", wrap))
        for cls, name, wrap in (
            (FakeTensorMode, "from_tensor", _from_tensor),
            (FakeTensorMode, "dispatch", _dispatch),
            (MetaTensorDescriber, "describe_tensor", _describe_tensor),
        ):
            patch = mock.patch.object(cls, name, wrap(getattr(cls, name)))
            stack.enter_context(patch)
        stack.enter_context(factories_on_target(numbers_too=numbers_too, stay=stay))
        yield


@contextmanager
def factories_on_target(
    *, numbers_too: bool = False, stay: frozenset[int] = frozenset()
) -> Iterator[None]:
    """For the length of the block, tensors made without ``device=`` are made on the target."""
    from torch._dynamo.output_graph import SubgraphTracer

    own = _create_proxy(SubgraphTracer.create_proxy, numbers_too, stay)
    with mock.patch.object(SubgraphTracer, "create_proxy", own):
        yield


def _noting_numbers(original: Any) -> Any:
    """A number that Dynamo passes as a tensor (a float under ``dynamic=True``) stays on the CPU."""

    def wrap(value: Any, *args: Any, is_tensor: bool, **kwargs: Any) -> Any:
        if not is_tensor and isinstance(value, torch.Tensor):
            value._tclab_number = True
        return original(value, *args, is_tensor=is_tensor, **kwargs)

    return wrap


def _is_number(value: Any) -> bool:
    return getattr(value, "_tclab_number", False)


def _from_tensor(original: Any) -> Any:
    """Inputs, parameters and buffers: these move. Constants made while tracing do not."""

    def from_tensor(self: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        token = _moving.set(not _is_number(tensor))
        try:
            return original(self, tensor, *args, **kwargs)
        finally:
            _moving.reset(token)

    return from_tensor


def _dispatch(original: Any) -> Any:
    """A marked constant is lifted to the target; PyTorch would lift a copy without the mark."""
    lifts = (torch.ops.aten.lift_fresh.default, torch.ops.aten.lift_fresh_copy.default)

    def dispatch(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in lifts and marked(args[0]):
            return self.fake_tensor_converter.from_real_tensor(self, args[0])
        return original(self, func, types, args, kwargs)

    return dispatch


def _describe_tensor(original: Any) -> Any:
    def describe_tensor(self: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        description = original(self, tensor, *args, **kwargs)
        if description.device.type == "cpu" and (_moving.get() or marked(tensor)):
            return dataclasses.replace(description, device=DEVICE)
        return description

    return describe_tensor


def mark(constant: torch.Tensor) -> None:
    """Let a tensor of the CPU become one of the target where it is traced."""
    constant._tclab_on_target = True


def marked(value: Any) -> bool:
    """Whether `mark` was called for it."""
    return getattr(value, "_tclab_on_target", False)


def _create_proxy(original: Any, numbers_too: bool, stay: frozenset[int]) -> Any:
    from torch.utils._device import _device_constructors

    constructors, made = _device_constructors(), itertools.count()

    def create_proxy(
        self: Any, kind: str, target: Any, args: Any, kwargs: Any, *rest: Any, **options: Any
    ) -> Any:
        if kind == "call_method" and target == "cuda":
            target, args, kwargs = "to", (args[0], DEVICE), {}
        makes = kind == "call_function" and target in constructors
        moves = makes and (numbers_too or not _makes_number(target, args))
        if not moves or kwargs.get("device") is not None:
            return original(self, kind, target, args, kwargs, *rest, **options)
        if (number := next(made)) not in stay:
            kwargs = {**kwargs, "device": DEVICE}
        proxy = original(self, kind, target, args, kwargs, *rest, **options)
        proxy.node.meta[_MADE] = number
        return proxy

    return create_proxy


#: In a node's meta: which factory without ``device=`` it is.
_MADE = "tclab_made"


def moved_to_target(module: fx.GraphModule) -> frozenset[int]:
    """The factories without ``device=`` of what a graph brings to the target itself, as by
    ``torch.arange(n).to(x.device)``: in a program for a GPU they make it on the CPU.
    """
    moves = [node for node in module.graph.nodes if _names_device(node)]
    found = [_factories(node.args[0]) for node in moves]
    return frozenset().union(*(numbers for numbers in found if numbers))


def _names_device(node: fx.Node) -> bool:
    """``x.to(device)``, where the device is the target."""
    if node.op != "call_method" or node.target != "to":
        return False
    named = [*node.args[1:], node.kwargs.get("device")]
    return any(devices_to_cpu(each) != each for each in named if not isinstance(each, fx.Node))


def _factories(node: Any) -> frozenset[int] | None:
    """Those that make all that a node is computed from; None where there is an input in it."""
    numbers: set[int] = set()
    seen: set[fx.Node] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        if _MADE in one.meta:
            numbers.add(one.meta[_MADE])
        elif isinstance(one.meta.get("example_value"), torch.Tensor) and not one.all_input_nodes:
            return None
        stack += one.all_input_nodes
    return frozenset(numbers)


_OF_DATA = (torch.tensor, torch.as_tensor, torch.scalar_tensor)
_OF_SIZE = (torch.zeros, torch.ones, torch.full)
_NUMBERS = (bool, int, float, complex, torch.SymBool, torch.SymInt, torch.SymFloat)


def _makes_number(target: object, args: Any) -> bool:
    """Whether a factory makes a tensor without dimensions, of a value that it is told."""
    first = args[0] if args else None
    if isinstance(first, fx.Proxy):
        first = first.node.meta.get("example_value")
    if target in _OF_DATA:
        return isinstance(first, _NUMBERS)
    return target in _OF_SIZE and isinstance(first, (tuple, list)) and not first


# ------------------------------------------------------------------------------ back again


#: Which attention kernels are allowed, inside the function: kernels of the GPU, not of the CPU.
_SWITCHES = {torch.nn.attention._sdpa_kernel, torch.nn.attention._sdpa_kernel_variadic}


def on_cpu(module: fx.GraphModule) -> fx.GraphModule:
    """A copy of a Dynamo graph that runs on the CPU: every mention of the target rewritten."""
    copy = copied(module)
    for node in list(copy.graph.nodes):
        if node.target in _SWITCHES:
            copy.graph.erase_node(node)
            continue
        node.args = devices_to_cpu(node.args)
        node.kwargs = devices_to_cpu(node.kwargs)
        if node.op == "call_method" and node.target == "cuda":
            node.target, node.args, node.kwargs = "cpu", node.args[:1], {}
        if node.op == "get_attr":
            inner = getattr(copy, str(node.target), None)
            if isinstance(inner, fx.GraphModule):
                setattr(copy, str(node.target), on_cpu(inner))
    copy.recompile()
    return copy


def copied(module: fx.GraphModule) -> fx.GraphModule:
    """The same graph over the same parameters; what is done to it leaves `module` alone.

    Dynamo's marks come along: by them AOTAutograd knows parameters, which cost nothing to save.
    """
    copy = fx.GraphModule(module, _copy(module.graph))
    copy.meta = dict(module.meta)
    _mark(copy, module, "_param_name_to_source")
    return copy


def _mark(copy: object, of: object, name: str) -> None:
    """Dynamo's note on from where it has a graph or an input, where it made one."""
    if hasattr(of, name):
        setattr(copy, name, getattr(of, name))


def _copy(graph: fx.Graph) -> fx.Graph:
    copy = fx.Graph()
    values: dict[fx.Node, fx.Node] = {}
    output = copy.graph_copy(graph, values)
    copy.output(output)
    for node, own in values.items():
        _mark(own, node, "_dynamo_source")
    return copy


def devices_to_cpu(value: Any) -> Any:
    """The same argument with the CPU in the place of the target."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return "cpu"
    if isinstance(value, (list, tuple)):
        items = [devices_to_cpu(v) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {k: devices_to_cpu(v) for k, v in value.items()}
    return value


def fake_inputs(module: fx.GraphModule, inputs: list[Any]) -> list[Any]:
    """The graph's inputs as Dynamo traced them: fake tensors of the target, symbols and numbers as
    given. A number's tensor is real, as it is for Inductor: what traces it again asks its value.
    """
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    return [
        node.meta["example_value"]
        if isinstance(real, torch.Tensor) and not _is_number(real)
        else real
        for node, real in zip(placeholders, inputs)
    ]
