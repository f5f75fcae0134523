"""A compile error waits for the first call.

Four mistakes, and the step at which each is reported. A word that `torch.compile` does not know
is found at once: it checks its own arguments. What is wrong with the function, or with the backend,
is found when there is something to compile. The fourth is no error at all: Dynamo makes a graph
break of it, and the call runs eager. The last two rows are the third mistake under a setting.
"""

import logging

import torch

import tclab


def breaks(x):
    torch._dynamo.graph_break()
    return x.sin()


def fails(graph, inputs):
    raise RuntimeError("this backend compiles nothing")


def fails_in_a_way_that_dynamo_expects(graph, inputs):
    raise torch._subclasses.fake_tensor.DynamicOutputShapeException("nonzero")


def when(fn, **options):
    """The step that raises, and the error's type."""
    try:
        compiled = torch.compile(fn, **options)
    except Exception as error:
        return "torch.compile", type(error).__name__
    try:
        compiled(torch.ones(4))
    except Exception as error:
        return "the first call", type(error).__name__
    return "none", ""


def when_suppressed(**options):
    torch._dynamo.reset()
    with torch._dynamo.config.patch(suppress_errors=True):
        return when(lambda x: x.sin(), backend=fails, **options)


logging.getLogger("torch._dynamo").setLevel(logging.ERROR)  # a suppressed error is a long warning
rows = [
    ("mode='fastest', which does not exist", *when(torch.sin, mode="fastest")),
    ("a graph break under fullgraph=True", *when(breaks, fullgraph=True, backend="eager")),
    ("a backend that fails", *when(torch.sin, backend=fails)),
    (
        "a backend that raises DynamicOutputShapeException",
        *when(lambda x: x.sin(), backend=fails_in_a_way_that_dynamo_expects),
    ),
    ("a backend that fails, with suppress_errors", *when_suppressed()),
    ("the same under fullgraph=True", *when_suppressed(fullgraph=True)),
]
# claim: its-own-arguments-at-once
assert rows[0][1] == "torch.compile"
# claim: errors-come-from-the-call
assert rows[1][1] == rows[2][1] == "the first call"
# claim: no-fallback-for-a-backend
assert rows[2][2] == "BackendCompilerFailed"
# claim: but-for-errors-that-become-breaks
assert rows[3][1] == "none"
# claim: suppressed-it-is-no-error
assert rows[4][1] == "none"
# claim: but-under-fullgraph-it-is
assert rows[5][2] == "BackendCompilerFailed"

columns = ("mistake", "step that raises", "error")
tclab.show(tclab.Table("Who says what when", "errors", columns, rows))
