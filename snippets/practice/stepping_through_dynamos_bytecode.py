"""The bytecode debugger: when does the compiled function append to its caller's list?

Dynamo's bytecode is run instruction by instruction; what a person would type is typed here by the
program. Before each instruction it asks how often the graph has run, and how long the list is.
"""

import builtins
import contextlib
import io
import re

import torch

import tclab


def f(x, seen):
    seen.append(x.shape[0])
    return torch.sin(x) * 2


commands, ran = [], []


def noting(graph, example_inputs):
    return lambda *inputs: (ran.append(1), graph(*inputs))[1]


def typed(prompt=""):
    """What is answered at the debugger's prompt: a question, then a step over one instruction."""
    commands.append("p len(ran), len(seen)" if len(commands) % 2 == 0 else "n")
    return commands[-1] if len(commands) < 400 else "c"


def stepped(compiled, *args):
    """Each instruction that Dynamo's code runs, and both numbers before it."""
    from torch._dynamo.bytecode_debugger import debug

    said, ask = io.StringIO(), builtins.input
    builtins.input = typed
    try:
        with contextlib.redirect_stdout(said), debug():
            compiled(*args)
    finally:
        builtins.input = ask
    parts = re.findall(
        r">>> +\d+ \[ *\d+\]: ([^\n]*)(?:(?!>>>).)*? = \((\d), (\d)\)", said.getvalue(), re.S
    )
    return [
        (re.sub(r"_[0-9a-f]{8}(_[0-9a-f]+)+", "", name), int(a), int(b)) for name, a, b in parts
    ]


version = tuple(map(int, torch.__version__.split(".")[:2]))
if version < (2, 12):
    tclab.show("torch._dynamo.bytecode_debugger came with PyTorch 2.12", title="Not here")
    steps = []
else:
    compiled, x = torch.compile(f, backend=noting), torch.randn(3)
    compiled(x, [])
    ran.clear()
    steps = stepped(compiled, x, [])
    tclab.show(tclab.Table(
        title="Instructions of Dynamo's code", name="steps",
        columns=("instruction", "graph has run, before it", "entries of the list"), rows=steps,
    ))  # fmt: skip
states = [row[1:] for row in steps]

# claim: it-came-with-2-12
assert (version >= (2, 12)) == bool(steps)
# claim: empty-until-the-graph-has-run, torch >= 2.12
assert version < (2, 12) or states[0] == (0, 0)
# claim: and-for-a-while-after, torch >= 2.12
assert version < (2, 12) or (1, 0) in states
# claim: appended-before-the-return, torch >= 2.12
assert version < (2, 12) or (states[-1] == (1, 1) and steps[-1][0].startswith("RETURN"))
