"""A training step, compiled with and without compiled autograd, and every graph it is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.utils import counters
from torch.fx import GraphModule


def one_product(x, w):
    return (x @ w).sin().sum()


def a_break(x, w):
    y = (x @ w).sin()
    torch._dynamo.graph_break()
    return (y @ w).cos().sum()


@dataclass
class Graphs:
    """Graphs that reached a backend below AOTAutograd, as (kind, graph); whether all was right."""

    seen: list[tuple[str, GraphModule]] = field(default_factory=list)
    captures: int = 0
    right: bool = True

    def of(self, kind: str) -> list[GraphModule]:
        """Those of a kind: forward, backward, or other: what has no gradient of its own."""
        return [graph for which, graph in self.seen if which == kind]

    def backend(self) -> Callable[..., Any]:
        """Keeps each graph, and runs it as it is."""

        def note(kind: str) -> Callable[..., Any]:
            def compiler(graph: GraphModule, example_inputs: object) -> Callable[..., Any]:
                self.seen.append((kind, graph))
                return make_boxed_func(graph.forward)

            return compiler

        kinds = {"fw_compiler": "forward", "bw_compiler": "backward"}
        kinds["inference_compiler"] = "other"
        return aot_autograd(**{name: note(kind) for name, kind in kinds.items()})


def operations(graph: GraphModule) -> list[str]:
    """The operators a graph calls, in order."""
    return [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]


def trained(
    loss: Callable[..., torch.Tensor],
    whole: bool,
    *,
    before: Callable[[torch.Tensor], object] = lambda w: None,
    between: Callable[[torch.Tensor, int], object] = lambda w, call: None,
    sizes: tuple[int, ...] = (2,),
) -> Graphs:
    """A step for each size, `whole` with compiled autograd. The gradient is compared with eager's.

    `before` and `between` are called with the parameter, first and before each later step.
    """
    torch._dynamo.reset()
    counters.clear()
    graphs = Graphs()
    w, eager = (torch.eye(4).requires_grad_() for _ in range(2))
    for parameter in (w, eager):
        before(parameter)
    with torch._dynamo.config.patch(compiled_autograd=whole):
        step = torch.compile(lambda x, w: loss(x, w).backward(), backend=graphs.backend())
        for call, size in enumerate(sizes):
            if call:
                between(w, call)
                between(eager, call)
            x = torch.arange(4.0 * size).reshape(size, 4)
            step(x, w)
            loss(x, eager).backward()
    graphs.captures = counters["compiled_autograd"]["captures"]
    graphs.right = torch.allclose(w.grad, eager.grad)
    return graphs
