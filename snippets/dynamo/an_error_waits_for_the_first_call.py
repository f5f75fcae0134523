"""A compile error waits for the first call.

Three mistakes, and the step at which each is reported. A word that `torch.compile` does not know
is found at once: it checks its own arguments. What is wrong with the function, or with the backend,
is found when there is something to compile.
"""

import torch

import tclab


def breaks(x):
    torch._dynamo.graph_break()
    return x.sin()


def fails(graph, inputs):
    raise RuntimeError("this backend compiles nothing")


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


rows = [
    ("mode='fastest', which does not exist", *when(torch.sin, mode="fastest")),
    ("a graph break under fullgraph=True", *when(breaks, fullgraph=True, backend="eager")),
    ("a backend that fails", *when(torch.sin, backend=fails)),
]
# claim: its-own-arguments-at-once
assert rows[0][1] == "torch.compile"
# claim: errors-come-from-the-call
assert rows[1][1] == rows[2][1] == "the first call"
# claim: no-fallback-for-a-backend
assert rows[2][2] == "BackendCompilerFailed"

columns = ("mistake", "step that raises", "error")
tclab.show(tclab.Table("Who says what when", "errors", columns, rows))
