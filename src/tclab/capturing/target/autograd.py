"""The autograd engine in Python, for tensors of a device that is not there.

PyTorch's engine asks the accelerator for streams, even while AOTAutograd traces a backward on
fake tensors, and fails where there is none. Tracing needs no streams, only the order: nodes
run by falling sequence number as soon as all their gradients have come, sums are
``old + new``, and each gradient is brought to the shape and dtype of what it belongs to
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
    """What ``torch.autograd.grad`` gets from the engine: one gradient for each input.

    The signature is that of ``torch.autograd.graph._engine_run_backward``.
    """
    if accumulate_grad:
        raise CaptureError(
            "backward()",
            "accumulates into .grad inside a graph, which a target cannot do",
            "call .backward() outside the compiled function, or use torch.autograd.grad",
        )
    wanted = [_edge(i) for i in inputs]
    with torch.set_grad_enabled(create_graph), _Tracebacks() as tracebacks:
        run = _Run([_edge(o) for o in outputs], wanted, tracebacks)
        of_inputs = run.run(gradients)
    if not allow_unreachable and any(g is None for g in of_inputs):
        raise RuntimeError("One of the differentiated Tensors appears to not have been used")
    return tuple(of_inputs)


def _edge(value: torch.Tensor | GradientEdge) -> Edge:
    edge = value if isinstance(value, GradientEdge) else get_gradient_edge(value)
    return edge.node, edge.output_nr


class _Run:
    """One pass over the graph below `roots`, as far as it leads to `wanted`."""

    def __init__(self, roots: list[Edge], wanted: list[Edge], tracebacks: _Tracebacks) -> None:
        self.roots, self.wanted, self.tracebacks = roots, wanted, tracebacks
        self.needed = _leading_to({node for node, _ in wanted}, [node for node, _ in roots])
        self.waiting = _dependencies([node for node, _ in roots], self.needed)
        self.buffers: dict[Node, Gradients] = {}
        self.captured: dict[Edge, torch.Tensor | None] = {}
        self.ready: list[tuple[int, int, Node]] = []
        self.order = 0

    def run(self, gradients: Sequence[torch.Tensor | None]) -> Gradients:
        for (node, number), gradient in zip(self.roots, gradients):
            if node in self.needed:
                self._add(node, number, _validated(gradient, node, number))
        for node in dict.fromkeys(node for node, _ in self.roots if node in self.needed):
            if not self.waiting[node]:
                self._push(node)
        while self.ready:
            self._evaluate(heapq.heappop(self.ready)[2])
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
            self._add(child, number, gradient)
            self.waiting[child] -= 1
            if not self.waiting[child]:
                self._push(child)

    def _call(self, node: Node, buffer: Gradients) -> Gradients:
        self.tracebacks.before(node)
        result = _apply(node, buffer)
        out = [
            g if child is None else _validated(g, child, number)
            for (child, number), g in zip(node.next_functions, result)
        ]
        self.tracebacks.after(node)
        return out

    def _add(self, node: Node, number: int, gradient: torch.Tensor | None) -> None:
        buffer = self.buffers.setdefault(node, [None] * len(node._input_metadata))
        if gradient is not None:
            old = buffer[number]
            buffer[number] = gradient if old is None else old + gradient

    def _push(self, node: Node) -> None:
        """Highest sequence number first; a leaf's accumulator, which only receives, before all."""
        self.order += 1
        rank = -(1 << 64) if _is_leaf(node) else -node._sequence_nr()
        heapq.heappush(self.ready, (rank, self.order, node))


def _is_leaf(node: Node) -> bool:
    return not node.next_functions and hasattr(node, "variable")


def _leading_to(wanted: set[Node], roots: Iterable[Node]) -> set[Node]:
    """The nodes below `roots` from which one of `wanted` can be reached."""
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


def _dependencies(roots: Iterable[Node], needed: set[Node]) -> dict[Node, int]:
    """How many edges lead into each needed node."""
    count: dict[Node, int] = defaultdict(int)
    stack = [node for node in roots if node in needed]
    seen = set(stack)
    while stack:
        for child, _ in stack.pop().next_functions:
            if child is None or child not in needed:
                continue
            count[child] += 1
            if child not in seen:
                seen.add(child)
                stack.append(child)
    return count


def _apply(node: Node, buffer: Gradients) -> Gradients:
    """Run one node; a Python autograd.Function has `apply`, the others are called."""
    is_python = isinstance(node, torch.autograd.function.BackwardCFunction)
    result = node.apply(*buffer) if is_python else node(*buffer)
    return list(result) if isinstance(result, tuple) else [result]


def _validated(gradient: torch.Tensor | None, node: Node, number: int) -> torch.Tensor | None:
    """The gradient with the shape and dtype of the value it is for."""
    if gradient is None:
        return None
    meta = node._input_metadata[number]
    if tuple(gradient.shape) != tuple(meta.shape):
        gradient = gradient.sum_to_size(meta.shape)
    return gradient if gradient.dtype == meta.dtype else gradient.to(meta.dtype)


class _Tracebacks:
    """Puts a node's forward stack trace on what its backward traces, as AOTAutograd's hooks do
    (torch/_functorch/_aot_autograd/logging_utils.py: setup_stacktrace_preservation_hooks).
    """

    def __enter__(self) -> _Tracebacks:
        self.active = fx_traceback.has_preserved_node_meta()
        self.before_all = fx_traceback.format_stack() if self.active else []
        return self

    def __exit__(self, *exc: object) -> None:
        if self.active:
            fx_traceback.set_stack_trace(self.before_all)

    def before(self, node: Node) -> None:
        if self.active:
            fx_traceback.set_stack_trace(_traceback(node))
            fx_traceback.set_grad_fn_seq_nr(node._sequence_nr())
            _call_if_there("_mark_autograd_backward")

    def after(self, node: Node) -> None:
        if self.active:
            special = [*_traceback(node), fx_traceback.GRADIENT_ACC_SPECIAL_STACK]
            fx_traceback.set_stack_trace(special)
            fx_traceback.reset_grad_fn_seq_nr()
            _call_if_there("_reset_autograd_backward")


def _traceback(node: Node) -> list[str]:
    return node.metadata.get("traceback_", [])


def _call_if_there(name: str) -> None:
    """Newer versions also mark which nodes are the backward's."""
    if function := getattr(fx_traceback, name, None):
        function()
