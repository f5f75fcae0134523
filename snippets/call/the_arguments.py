"""The arguments of `torch.compile`, each seen in what it changes.

One function with a graph break, called with three batch sizes. `backend` says who gets the
graphs, `dynamic` how sizes are treated, `fullgraph` that a break is an error, `disable` that
nothing is to be done. `mode` and `options` go to Inductor; they are checked at once, and exclude
each other.
"""

import torch
from torch._dynamo.testing import CompileCounter

import tclab


def f(x):
    y = torch.relu(x)
    torch._dynamo.graph_break()
    return y + 1


def outcome(**arguments):
    """Graphs that the backend got over three sizes, or the error."""
    torch._dynamo.reset()
    counter = CompileCounter()
    try:
        compiled = torch.compile(f, **{"backend": counter, **arguments})
    except (RuntimeError, torch._dynamo.exc.InvalidBackend) as error:
        return "torch.compile", 0, str(error).split(", known options")[0]
    try:
        for size in (8, 16, 24):
            torch.testing.assert_close(compiled(torch.ones(size)), torch.full((size,), 2.0))
    except torch._dynamo.exc.Unsupported as error:
        return "the first call", 0, str(error).splitlines()[0]
    return "", counter.frame_count, ""


CASES = {
    "no arguments": {},
    "dynamic=True": {"dynamic": True},
    "dynamic=False": {"dynamic": False},
    "fullgraph=True": {"fullgraph": True},
    "disable=True": {"disable": True},
    'backend="inducer"': {"backend": "inducer"},
    'mode="fast"': {"backend": "inductor", "mode": "fast"},
    'options={"max_tune": True}': {"backend": "inductor", "options": {"max_tune": True}},
    "mode and options": {
        "backend": "inductor",
        "mode": "default",
        "options": {"max_autotune": True},
    },
}
ends = {name: outcome(**arguments) for name, arguments in CASES.items()}

# claim: by-default-the-second-size-compiles-again
assert ends["no arguments"] == ("", 4, "")
# claim: dynamic-true-compiles-once
assert ends["dynamic=True"] == ("", 2, "")
# claim: dynamic-false-compiles-each-size
assert ends["dynamic=False"] == ("", 6, "")
# claim: fullgraph-makes-a-break-an-error
assert ends["fullgraph=True"][0] == "the first call"
# claim: disable-compiles-nothing
assert ends["disable=True"] == ("", 0, "")
# claim: an-unknown-backend-is-refused-at-once
assert ends['backend="inducer"'][0] == "torch.compile" and "inducer" in ends['backend="inducer"'][2]
# claim: an-unknown-mode-is-refused-at-once
assert ends['mode="fast"'][0] == "torch.compile" and "fast" in ends['mode="fast"'][2]
# claim: an-unknown-option-is-refused-at-once
assert ends['options={"max_tune": True}'][0] == "torch.compile"
# claim: mode-and-options-exclude-each-other
assert ends["mode and options"][0] == "torch.compile" and "both" in ends["mode and options"][2]

columns = ("arguments", "graphs over three sizes", "error from", "error")
rows = [(name, graphs, place, error) for name, (place, graphs, error) in ends.items()]
tclab.show(tclab.Table("What the arguments change", "arguments", columns, rows))
