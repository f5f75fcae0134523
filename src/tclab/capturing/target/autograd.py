"""Run the autograd engine in Python, for tensors of a device that is not there.

PyTorch's engine asks the accelerator for streams, even while AOTAutograd traces a backward on fake
tensors, and fails without one. Tracing needs no streams, only the engine's order and its results.
Among the nodes with all gradients, the one with the highest sequence number runs first. Gradients
are summed as ``old + new``, and each gets the shape and dtype of its value
(torch/csrc/autograd/engine.cpp: evaluate_function, validate_outputs; input_buffer.cpp).
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge
from torch.fx import traceback as fx_traceback

from tclab.errors import CaptureError

Edge = tuple[Node, int]
Gradients = list["torch.Tensor | None"]


def run_backward(
    outputs: Sequence[Any],
    gradients: Sequence[torch.Tensor | None],
    keep_graph: bool | None,
    create_graph: bool,
    inputs: Sequence[Any],
    allow_unreachable: bool,
    accumulate_grad: bool,
) -> tuple[torch.Tensor | None, ...]:
    """Compute one gradient for each of `inputs`, in place of PyTorch's engine.

    The signature is that of ``torch.autograd.graph._engine_run_backward``.
    """
    if accumulate_grad:
        raise CaptureError(
            "backward()",
            "accumulates into .grad inside a graph, which a target cannot do",
            "call .backward() outside the compiled function, or use torch.autograd.grad",
        )
    wanted = [_gradient_edge(i) for i in inputs]
    with torch.set_grad_enabled(create_graph), _Tracebacks() as tracebacks:
        run = _BackwardPass([_gradient_edge(o) for o in outputs], wanted, tracebacks)
        input_gradients = run.run(gradients)
    if not allow_unreachable and any(g is None for g in input_gradients):
        raise RuntimeError("One of the differentiated Tensors appears to not have been used")
    return tuple(input_gradients)


def _gradient_edge(value: torch.Tensor | GradientEdge) -> Edge:
    edge = value if isinstance(value, GradientEdge) else get_gradient_edge(value)
    return edge.node, edge.output_nr


class _BackwardPass:
    """One pass over the nodes of the graph below `roots` that lead to `wanted`."""

    def __init__(self, roots: list[Edge], wanted: list[Edge], tracebacks: _Tracebacks) -> None:
        self.roots, self.wanted, self.tracebacks = roots, wanted, tracebacks
        self.needed = _nodes_leading_to({node for node, _ in wanted}, [node for node, _ in roots])
        self.waiting = _count_edges([node for node, _ in roots], self.needed)
        self.buffers: dict[Node, Gradients] = {}
        self.captured: dict[Edge, torch.Tensor | None] = {}
        self.ready: list[tuple[int, int, Node]] = []
        self.order = 0

    def run(self, gradients: Sequence[torch.Tensor | None]) -> Gradients:
        for (node, number), gradient in zip(self.roots, gradients):
            if node in self.needed:
                self._accumulate(node, number, _match_metadata(gradient, node, number))
        for node in dict.fromkeys(node for node, _ in self.roots if node in self.needed):
            if not self.waiting[node]:
                self._push(node)
        while self.ready:
            self._evaluate(heapq.heappop(self.ready)[2])
        if any(self.waiting.values()):
            raise CaptureError(
                "backward()",
                "tclab's order of gradients left an operator out",
                "please report it, with the function; or leave backward out",
            )
        return [self.captured.get(edge) for edge in self.wanted]

    def _evaluate(self, node: Node) -> None:
        buffer = self.buffers.pop(node, [None] * len(node._input_metadata))
        for edge in self.wanted:
            if edge[0] is node:
                self.captured[edge] = buffer[edge[1]]
        if not any(child in self.needed for child, _ in node.next_functions):
            return
        for (child, number), gradient in zip(node.next_functions, self._call(node, buffer)):
            if child is None or child not in self.needed:
                continue
            self._accumulate(child, number, gradient)
            self.waiting[child] -= 1
            if not self.waiting[child]:
                self._push(child)

    def _call(self, node: Node, buffer: Gradients) -> Gradients:
        self.tracebacks.enter_node(node)
        result = _apply(node, buffer)
        out = [
            g if child is None else _match_metadata(g, child, number)
            for (child, number), g in zip(node.next_functions, result)
        ]
        self.tracebacks.leave_node(node)
        return out

    def _accumulate(self, node: Node, number: int, gradient: torch.Tensor | None) -> None:
        buffer = self.buffers.setdefault(node, [None] * len(node._input_metadata))
        if gradient is not None:
            old = buffer[number]
            buffer[number] = gradient if old is None else old + gradient

    def _push(self, node: Node) -> None:
        """Queue a node. Accumulators of leaves run first, then the other nodes, the highest
        sequence number first.
        """
        self.order += 1
        rank = -(1 << 64) if _is_leaf(node) else -node._sequence_nr()
        heapq.heappush(self.ready, (rank, self.order, node))


def _is_leaf(node: Node) -> bool:
    return not node.next_functions and hasattr(node, "variable")


def _nodes_leading_to(wanted: set[Node], roots: Iterable[Node]) -> set[Node]:
    """Return the nodes at or below `roots` from which one of `wanted` can be reached."""
    needed: set[Node] = set()
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(node, False) for node in roots]
    while stack:
        node, children_done = stack.pop()
        children = [child for child, _ in node.next_functions if child is not None]
        if children_done:
            if node in wanted or any(child in needed for child in children):
                needed.add(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((child, False) for child in children)
    return needed


def _count_edges(roots: Iterable[Node], needed_nodes: set[Node]) -> dict[Node, int]:
    """Count the edges that lead into each of `needed_nodes`."""
    count: dict[Node, int] = defaultdict(int)
    stack = list(dict.fromkeys(node for node in roots if node in needed_nodes))
    seen = set(stack)
    while stack:
        for child, _ in stack.pop().next_functions:
            if child is None or child not in needed_nodes:
                continue
            count[child] += 1
            if child not in seen:
                seen.add(child)
                stack.append(child)
    return count


def _apply(node: Node, buffer: Gradients) -> Gradients:
    """Run one node: call `apply` of a Python autograd.Function, or else the node itself."""
    is_python = isinstance(node, torch.autograd.function.BackwardCFunction)
    result = node.apply(*buffer) if is_python else node(*buffer)
    return list(result) if isinstance(result, tuple) else [result]


def _match_metadata(gradient: torch.Tensor | None, node: Node, number: int) -> torch.Tensor | None:
    """Return the gradient, summed and cast to the shape and dtype of input `number` of a node."""
    if gradient is None:
        return None
    meta = node._input_metadata[number]
    if tuple(gradient.shape) != tuple(meta.shape):
        gradient = gradient.sum_to_size(meta.shape)
    return gradient if gradient.dtype == meta.dtype else gradient.to(meta.dtype)


class _Tracebacks:
    """Copies the stack trace of each forward node to its backward nodes, as AOTAutograd does
    (torch/_functorch/_aot_autograd/logging_utils.py: setup_stacktrace_preservation_hooks).
    """

    def __enter__(self) -> _Tracebacks:
        self.active = fx_traceback.has_preserved_node_meta()
        self.outer_stack = fx_traceback.format_stack() if self.active else []
        return self

    def __exit__(self, *exc: object) -> None:
        if self.active:
            fx_traceback.set_stack_trace(self.outer_stack)

    def enter_node(self, node: Node) -> None:
        if self.active:
            fx_traceback.set_stack_trace(_forward_traceback(node))
            fx_traceback.set_grad_fn_seq_nr(node._sequence_nr())
            _call_if_defined("_mark_autograd_backward")

    def leave_node(self, node: Node) -> None:
        if self.active:
            special = [*_forward_traceback(node), fx_traceback.GRADIENT_ACC_SPECIAL_STACK]
            fx_traceback.set_stack_trace(special)
            fx_traceback.reset_grad_fn_seq_nr()
            _call_if_defined("_reset_autograd_backward")


def _forward_traceback(node: Node) -> list[str]:
    return node.metadata.get("traceback_", [])


def _call_if_defined(name: str) -> None:
    """Call a function of `fx_traceback` if this PyTorch has it. Newer versions mark a backward's
    nodes with it.
    """
    if function := getattr(fx_traceback, name, None):
        function()
