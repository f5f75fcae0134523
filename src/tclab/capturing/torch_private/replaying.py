"""Record the graphs of a compile with the inputs of each call, so that the graphs can be run
again.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tclab.capturing.torch_private import compiler
from tclab.capturing.torch_private.private import Private
from tclab.capturing.torch_private.rounded import storage_address

NAMES = (
    Private("torch.utils._python_dispatch", "TorchDispatchMode", "every operator of a run"),
    Private("torch._dynamo.backends.common", "aot_autograd", "graphs of ATen"),
    Private("torch._inductor.decomposition", "select_decomp_table", "Inductor's decompositions"),
    Private("torch._C._functorch", "get_interpreter_stack", "the transforms that are open"),
    Private("torch._C._functorch", "pop_dynamic_layer_stack", "close one"),
    Private("torch._C._functorch", "is_functorch_wrapped_tensor", "a transform's tensor"),
    Private("torch._C._functorch", "get_unwrapped", "the tensor below it"),
)
Backend = Callable[[fx.GraphModule, list[Any]], Callable[..., Any]]


@dataclass(frozen=True)
class GraphCall:
    """A graph, and copies of the inputs with which it was called."""

    graph: fx.GraphModule
    inputs: tuple[Any, ...]

    def values(self) -> Iterator[tuple[fx.Node, list[torch.Tensor]]]:
        """Run the graph node by node, and yield each operator with copies of its results."""
        noted: list[tuple[fx.Node, list[torch.Tensor]]] = []

        class Noting(fx.Interpreter):
            def run_node(self, node: fx.Node) -> Any:
                result = super().run_node(node)
                if node.op.startswith("call"):
                    noted.append((node, copy_tensors(result)))
                return result

        Noting(self.graph).run(*map(copy_value, self.inputs))
        yield from noted

    def cut_after(self, node: fx.Node) -> fx.GraphModule:
        """Return the graph cut after `node`. It returns `node` and those of the graph's own outputs
        that are computed by then.
        """
        graph, new = fx.Graph(), dict[fx.Node, fx.Node]()
        *_, last = self.graph.graph.nodes
        for each in self.graph.graph.nodes:
            if each.op != "output":
                new[each] = graph.node_copy(each, lambda old: new[old])
            if each is node:
                break
        own = (each for each in last.all_input_nodes if each in new and each.op.startswith("call"))
        graph.output(tuple(new[each] for each in dict.fromkeys((node, *own))))
        return fx.GraphModule(self.graph, graph)


def record_dynamo_graphs(calls: list[GraphCall]) -> Backend:
    """Return a backend that appends each call of Dynamo's graphs to `calls`, and runs it in
    eager.
    """
    return lambda graph, _: _record_calls(graph, calls)


def record_inductor_graphs(calls: list[GraphCall]) -> Backend:
    """Return a backend that appends each call of the graphs that Inductor receives, backward graphs
    among them, to `calls`, and runs them in eager.
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor.decomposition import select_decomp_table

    def keep(graph: fx.GraphModule, _: list[Any]) -> Callable[..., Any]:
        return _box_arguments(_record_calls(graph, calls))

    backend: Backend = aot_autograd(
        fw_compiler=keep,
        decompositions=select_decomp_table(),
        keep_inference_input_mutations=True,
    )
    return backend


def _record_calls(graph: fx.GraphModule, calls: list[GraphCall]) -> Callable[..., Any]:
    # deepcopy(graph) does not copy the constants
    kept = fx.GraphModule(graph, copy.deepcopy(graph.graph))

    def run(*inputs: Any) -> Any:
        calls.append(GraphCall(kept, tuple(map(copy_value, inputs))))
        return graph(*inputs)

    return run


def _box_arguments(run: Callable[..., Any]) -> Callable[..., Any]:
    def call(inputs: list[Any]) -> Any:
        return run(*inputs)

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


@contextmanager
def recording_values(found: list[torch.Tensor]) -> Iterator[None]:
    """Append copies of the results of each eager function and operator to `found`."""

    class Functions(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = func(*args, **(kwargs or {}))
            found.extend(copy_tensors(result))
            return result

    class Operators(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = func(*args, **(kwargs or {}))
            found.extend(copy_tensors(result))
            return result

    with Functions(), Operators():
        yield


@contextmanager
def closing_transforms() -> Iterator[None]:
    """Close the transforms of torch.func that the block leaves open, as a failing replay does."""
    from torch._C import _functorch

    depth = len(_functorch.get_interpreter_stack() or ())
    try:
        yield
    finally:
        while len(_functorch.get_interpreter_stack() or ()) > depth:
            _functorch.pop_dynamic_layer_stack()


def copy_tensors(result: Any) -> list[torch.Tensor]:
    """Return copies of the readable tensors in a result, without gradients."""
    leaves = compiler.nested_leaves(result)
    plain = (each for each in leaves if type(each) in (torch.Tensor, torch.nn.Parameter))
    return [_unwrap(each).detach().clone() for each in plain]


def find_aliases(inputs: Sequence[Any], result: Any) -> list[set[int]]:
    """Return for each tensor in a result which of the inputs share its storage."""

    def storages(value: Any) -> list[int]:
        leaves = compiler.nested_leaves(value)
        plain = (each for each in leaves if type(each) in (torch.Tensor, torch.nn.Parameter))
        return [storage_address(each) for each in plain]

    own = [set(storages([each])) - {0} for each in inputs]
    return [{at for at, each in enumerate(own) if storage in each} for storage in storages(result)]


def _unwrap(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor inside the wrappers of torch.func's transforms."""
    from torch._C import _functorch

    while _functorch.is_functorch_wrapped_tensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor


def copy_value(value: Any) -> Any:
    """Return a copy of a tensor with its strides; return other values unchanged."""
    if not isinstance(value, torch.Tensor):
        return value
    with torch.no_grad():
        return value.detach().clone().requires_grad_(value.requires_grad)
