"""Find the first operator whose result differs, by running the graphs node by node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from tclab.capturing.agreement import numbers
from tclab.capturing.agreement.observed import Observation
from tclab.capturing.torch_private import compiler, replaying
from tclab.capturing.torch_private.replaying import GraphCall
from tclab.model import SourceLine
from tclab.text import user_lines
from tclab.text.printed_stacks import read_frames
from tclab.text.scrub import scrub

#: A function that compiles with these options of torch.compile and makes the calls.
RunWith = Callable[[Mapping[str, Any]], Observation]
#: The largest distance between results that count as equal, in units in the last place of the
#: largest value.
_MOST_ULPS = 1024


@dataclass(frozen=True)
class Operator:
    """An operator, with its name in the graph and the user's line from which it comes, if known."""

    name: str
    line: SourceLine | None


def find_unmatched(run: RunWith, found: Sequence[torch.Tensor], *, dynamo: bool) -> Operator | None:
    """Return the first operator whose result is not among `found`, the results of eager's
    operators. It is an operator of Dynamo's graphs with `dynamo`, else of the ATen graphs.
    """
    calls: list[GraphCall] = []
    run(
        {
            "backend": (
                replaying.record_dynamo_graphs if dynamo else replaying.record_inductor_graphs
            )(calls)
        }
    )
    for call in calls:
        for node, results in call.values():
            if not all(any(_is_near(each, other) for other in found) for each in results):
                return _make_operator(node)
    return None


def first_wrong_in_inductor(run: RunWith) -> Operator | None:
    """Return the first operator whose result from Inductor differs from its result when the graph
    is run node by node. The operator is found by bisection, in which each step compiles the graph
    up to a node.
    """
    calls: list[GraphCall] = []
    run({"backend": replaying.record_inductor_graphs(calls)})
    for is_wrong in (_has_other_values, _has_other_aliases):
        for call in calls:
            nodes = [node for node in call.graph.graph.nodes if node.op.startswith("call")]
            if nodes and is_wrong(call, nodes[-1]):
                return _make_operator(_bisect_first(call, nodes, is_wrong))
    return None


def find_named(run: RunWith, name: str) -> Operator | None:
    """Return the operator with this name, as in ``mine.scale``, where the graphs first call it."""
    calls: list[GraphCall] = []
    run({"backend": replaying.record_inductor_graphs(calls)})
    for call in calls:
        for node in call.graph.graph.nodes:
            if str(node.target).rpartition(".")[0] == name:
                return _make_operator(node)
    return None


def find_raising_operator(run: RunWith) -> Operator | None:
    """Return the operator with which Inductor's compile of a graph first raises."""
    calls: list[GraphCall] = []
    run({"backend": replaying.record_inductor_graphs(calls)})
    for call in calls:
        nodes = [node for node in call.graph.graph.nodes if node.op.startswith("call")]
        if nodes and _compile_raises(call, nodes[-1]):
            return _make_operator(_bisect_first(call, nodes, _compile_raises))
    return None


def _bisect_first(
    call: GraphCall, nodes: list[fx.Node], fails: Callable[[GraphCall, fx.Node], bool]
) -> fx.Node:
    """Return the first node for which the graph fails when it is compiled up to that node. The
    caller must know that the graph fails for the last node.
    """
    right, wrong = -1, len(nodes) - 1
    while wrong - right > 1:
        middle = (right + wrong) // 2
        right, wrong = (right, middle) if fails(call, nodes[middle]) else (middle, wrong)
    return nodes[wrong]


def _compile_raises(call: GraphCall, node: fx.Node) -> bool:
    """Return whether the compile of the graph up to a node raises."""
    torch.compiler.reset()
    try:
        with torch.no_grad():
            torch.compile(call.cut_after(node))(*map(replaying.copy_value, call.inputs))
    except Exception:
        return True
    return False


def _has_other_values(call: GraphCall, node: fx.Node) -> bool:
    """Return whether the graph, compiled up to a node, returns other values than eager or changes
    its inputs differently.
    """
    sides = ([*replaying.copy_tensors(results), *replaying.copy_tensors(inputs)]
             for inputs, results in _run_both(call, node))  # fmt: skip
    return not all(map(_is_near, *sides))


def _has_other_aliases(call: GraphCall, node: fx.Node) -> bool:
    """Return whether the graph, compiled up to a node, returns views of other inputs than eager."""
    left, right = (replaying.find_aliases(*side) for side in _run_both(call, node))
    return left != right


def _run_both(call: GraphCall, node: fx.Node) -> Iterator[tuple[list[Any], Any]]:
    """Run the graph up to a node in eager, then compiled, with the same random numbers. Yield the
    inputs as each run left them, and its results.
    """
    module = call.cut_after(node)
    for each in (module, torch.compile(module)):
        inputs = [*map(replaying.copy_value, call.inputs)]
        with compiler.draw_as_eager(), torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            results = each(*inputs)
        yield inputs, results


def _is_near(left: torch.Tensor, right: torch.Tensor) -> bool:
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    return numbers.is_near_largest(left, right, _MOST_ULPS)


def _make_operator(node: fx.Node) -> Operator:
    target = node.target if isinstance(node.target, str) else _name(node.target)
    return Operator(target, _find_line(node))


def _name(target: Any) -> str:
    return str(target) if "." in str(target) else getattr(target, "__name__", str(target))


def _find_line(node: fx.Node) -> SourceLine | None:
    """Return the innermost line of the user's code from which a node comes. For a node without a
    line, return the line of the nearest node before it.
    """
    at: fx.Node = node
    while not at.stack_trace and at.prev.op != "root":
        at = at.prev
    frames = user_lines.select_user_lines(
        read_frames(at.stack_trace or ""), lambda frame: frame.file
    )
    if not frames:
        return None
    inner = frames[-1]
    return SourceLine(scrub(inner.file), inner.line, "", inner.function)
