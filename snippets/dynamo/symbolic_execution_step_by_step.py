"""Dynamo executes your bytecode, with stand-ins for values.

Each row is one instruction of `f`, and what was on Python's value stack when Dynamo came to
it. No tensor is on that stack. A tensor argument is a `TensorVariable`: it knows a
dtype and a shape, and which graph node makes it. A Python number is a `ConstantVariable`:
its value is known, so arithmetic on it happens right here and leaves no node. (CPython itself
would compute `3 - 1` before Dynamo saw it; through a variable it does not.)
"""

import logging
import re

import torch

import tclab


def f(x):
    k = 3
    n = k - 1
    return x * n + 1


class Rows(logging.Handler):
    """Keeps the lines that `TORCH_LOGS=trace_bytecode` prints."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def emit(self, record):
        if found := re.match(r"TRACE (\S+) (.*?) (\[.*\])$", record.getMessage()):
            self.rows.append(found.groups())


handler = Rows()
torch._logging.set_logs(trace_bytecode=True)
log = logging.getLogger("torch._dynamo.symbolic_convert.__trace_bytecode")
log.propagate = False
log.addHandler(handler)
c = tclab.capture(f, backend="eager")(torch.randn(8))
log.removeHandler(handler)

steps = [row for row in handler.rows if row[0] != "RESUME"]
binary = [stack for name, _, stack in steps if name == "BINARY_OP"]
assert len(binary) == 3  # k - 1, x * n, … + 1
# claim: an-argument-is-lazy
assert "LazyVariableTracker(unrealized" in binary[1] and "Lazy" not in binary[2]
names = [n.name for n in c.graphs[0].nodes]
# claim: known-numbers-leave-no-node
assert "Tensor" not in binary[0] and names == ["l_x_", "mul", "add", "output"]
# claim: a-tensor-makes-a-node
assert "TensorVariable" in binary[2] and len(c.graphs[0]) == 2
# claim: no-tensor-on-the-stack
assert not any("Tensor(" in stack or "tensor(" in stack for _, _, stack in steps)

tclab.show(
    tclab.Table(
        title="Instruction by instruction",
        columns=("instruction", "argument", "stack before it"),
        rows=steps,
    ),
    name="steps",
)
tclab.show(c.graphs[0], name="graph")
