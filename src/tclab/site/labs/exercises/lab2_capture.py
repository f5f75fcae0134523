"""Lab 2: predict and count the operations of a graph, and find the nodes of a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tclab.site.labs.exercise import Answer, Exercise, RandomInputs, compile_function

# --------------------------------------------------------------------------- predict_ops

predict_ops = Exercise("predict_ops", "How many operations there will be")

_NET = """
def forward(x, weights, gated, residual):
    for weight in weights:
        y = torch.relu(x @ weight)
        if gated:
            y = y * y.sigmoid()
        x = x + y if residual else y
    return x.mean(-1)
"""


def _count_operations(depth: int, *, is_gated: bool, residual: bool) -> int:
    """Capture a network of this form, and count the operations in Dynamo's graph."""
    import torch

    import tclab

    weights = [torch.eye(4) for _ in range(depth)]
    net = compile_function(_NET, "forward")
    return len(
        tclab.capture(net, backend="eager")(torch.ones(2, 4), weights, is_gated, residual).graphs[0]
    )


def _check_number(answer: Answer, depth: int, *, is_gated: bool, residual: bool) -> None:
    result = answer(depth, is_gated, residual)
    true = _count_operations(depth, is_gated=is_gated, residual=residual)
    call = f"predict_ops({depth}, gated={is_gated}, residual={residual})"
    assert result == true, f"{call} said {result!r}; the graph has {true}"


@predict_ops.step(
    "after-the-loop",
    "counts what stands outside the loop",
    "What runs even if the network has no layer at all?",
    "With depth 0 the graph still has the mean: one operation.",
)
def counts_operations_after_the_loop(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_number(answer, 0, is_gated=False, residual=False)


@predict_ops.step(
    "two-in-a-line",
    "counts operations, not lines",
    "How many operations does `torch.relu(x @ weight)` ask for?",
    "A line may hold several: a product and a relu are two nodes.",
)
def counts_two_in_a_line(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_number(answer, 1, is_gated=False, residual=False)


@predict_ops.step(
    "unrolled",
    "counts each turn of the loop",
    "Does the graph have loops?",
    "A graph is a straight list: Dynamo ran the loop while it traced, and noted each turn.",
)
def counts_each_turn(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_number(answer, random_inputs.integer(3, 6), is_gated=False, residual=False)


@predict_ops.step(
    "branches",
    "counts the branch that is taken, and no `if`",
    "Who decides the `if`: the compiled code, or Python while it traces?",
    "`gated` and `residual` are Python values. Only what the taken branch computes becomes nodes: "
    "two for the gate, one for the residual.",
)
def counts_the_branch_taken(answer: Answer, random_inputs: RandomInputs) -> None:
    depth = random_inputs.integer(1, 3)
    _check_number(answer, depth, is_gated=True, residual=False)
    _check_number(answer, depth, is_gated=False, residual=True)


@predict_ops.step(
    "unseen",
    "is right for networks that it has not seen",
    "Does your answer hold only for the networks of the lab?",
    "Give a formula in depth, gated and residual; Python's True counts as 1.",
)
def is_right_for_other_networks(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_number(answer, random_inputs.integer(7, 9), is_gated=True, residual=True)


@predict_ops.step(
    "predicts",
    "compiles nothing",
    "How would you know the number if the network did not fit on your machine?",
    "Work it out from depth, gated and residual: no torch.compile, no tclab.capture.",
)
def compiles_nothing(answer: Answer, random_inputs: RandomInputs) -> None:
    import tclab

    with tclab.capture() as compiled:
        answer(random_inputs.integer(2, 3), True, True)
    assert not compiled.graphs, "it compiled the network and counted"


# --------------------------------------------------------------------------- count_ops

count_ops = Exercise("count_ops", "All operations that Dynamo captured")


def _check_count(
    answer: Answer, fn: Callable[..., Any], random_inputs: RandomInputs, expected: int
) -> None:
    result = answer(fn, random_inputs.tensor(4, 4))
    assert result == expected, f"it counted {result!r} operations where there are {expected}"


@count_ops.step(
    "inputs",
    "does not count inputs and the output",
    "Which nodes of a graph compute something?",
    "placeholder and output nodes are the graph's ends. An operation's op begins with `call_`.",
)
def leaves_inputs_out(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_count(
        answer, compile_function("def f(x):\n    return torch.sin(x)", "f"), random_inputs, 1
    )


@count_ops.step(
    "methods",
    "counts calls of methods, too",
    "x.sin() and torch.sin(x): are both nodes of the same kind?",
    "A method of a tensor is a `call_method` node, a function a `call_function` node.",
)
def counts_methods(answer: Answer, random_inputs: RandomInputs) -> None:
    code = "def f(x):\n    return torch.relu(x.sin()).cos() + 1"
    _check_count(answer, compile_function(code, "f"), random_inputs, 4)


@count_ops.step(
    "all-graphs",
    "counts the graphs after a break, too",
    "A function with a print in its midst: how many graphs does the capture have?",
    "Sum over all of capture.graphs; the first is not the only one.",
)
def counts_all_graphs(answer: Answer, random_inputs: RandomInputs) -> None:
    code = (
        "def f(x):\n    y = x.sin().cos()\n    torch._dynamo.graph_break()\n    return y.relu() + y"
    )
    _check_count(answer, compile_function(code, "f"), random_inputs, 4)


@count_ops.step(
    "unseen",
    "is right for functions that it has not seen",
    "Does your function look at the function that it is given?",
    "Capture fn(x), then count.",
)
def counts_any_number(answer: Answer, random_inputs: RandomInputs) -> None:
    number = random_inputs.integer(6, 12)
    code = f"def f(x):\n    for _ in range({number}):\n        x = x * 2\n    return x"
    _check_count(answer, compile_function(code, "f"), random_inputs, number)


# --------------------------------------------------------------------------- nodes_of

nodes_of = Exercise("nodes_of", "Which nodes a line made")

_TWO_LINES = """
def f(x):
    size = x.shape[-1]
    scaled = torch.relu(x / size**0.5).exp()
    total = torch.relu(scaled).sum(-1)
    return total + 1
"""
_ONCE = """
def f(x):
    scaled = (x / 4).exp().cos()
    return scaled.sum(-1) + 1
"""
_HELPER = """
def gate(y):
    return y * y.sigmoid()


def f(x):
    return gate(x.sin()).cos()
"""


def _names(result: object) -> set[str]:
    assert isinstance(result, Iterable), f"it returned {result!r}, not names"
    assert not isinstance(result, str), f"it returned {result!r}, not a list of names"
    return {str(getattr(name, "name", name)) for name in result}


def _nodes_of_line(function: Callable[..., Any], x: Any, line: str) -> set[str]:
    import tclab

    (graph,) = tclab.capture(function, backend="eager")(x).graphs
    calls = (node for node in graph.nodes if node.op.startswith("call_") and node.source)
    return {node.name for node in calls if node.source and node.source.code.strip() == line}


def _check_line(
    answer: Answer, random_inputs: RandomInputs, code: str, line: str, number: int
) -> None:
    """Assert that the answer names the nodes of a line; the graph has `number` of them."""
    function, x = compile_function(code, "f"), random_inputs.tensor(4, 16)
    result, true = _names(answer(function, x, line)), _nodes_of_line(function, x, line)
    assert len(true) == number
    assert result == true, f"of `{line}` it said {sorted(result)}; it made {sorted(true)}"


@nodes_of.step(
    "all",
    "gives every node of a line",
    "Does your function find any node? How many can one line make?",
    "Go through all nodes of the graph, and keep each whose line it is.",
)
def gives_every_node_of_a_line(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_line(answer, random_inputs, _ONCE, "scaled = (x / 4).exp().cos()", 3)


@nodes_of.step(
    "same-operation",
    "tells two lines with the same operation apart",
    "Two lines call relu. Does the name of the operation say which line it was?",
    "Each node has its source: node.source.code is the line's text, node.source.line its number.",
)
def tells_two_lines_apart(answer: Answer, random_inputs: RandomInputs) -> None:
    line = "total = torch.relu(scaled).sum(-1)"
    _check_line(answer, random_inputs, _TWO_LINES, line, 2)


@nodes_of.step(
    "none",
    "gives none for a line that made none",
    "What did Dynamo do with `size = x.shape[-1]`?",
    "It computed the size while it traced: no node. Inputs are not made by a line either.",
)
def gives_none_for_a_size(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_line(answer, random_inputs, _TWO_LINES, "size = x.shape[-1]", 0)


@nodes_of.step(
    "helper",
    "finds lines of a function that is called",
    "The line may stand in a function that yours calls. Is it in the same graph?",
    "Dynamo inlines calls: compare the line's text, not the function it stands in.",
)
def finds_lines_of_a_helper(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_line(answer, random_inputs, _HELPER, "return y * y.sigmoid()", 2)


@nodes_of.step(
    "innermost",
    "gives a line with a call its own nodes alone",
    "A node of a function that is called: which line is it written on?",
    "Of the frames of a node's stack, the last is the line that made it; node.source is that one.",
)
def leaves_out_nodes_of_a_call(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_line(answer, random_inputs, _HELPER, "return gate(x.sin()).cos()", 2)


EXERCISES = [predict_ops, count_ops, nodes_of]
