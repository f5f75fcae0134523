"""Dynamo executes your bytecode, with stand-ins for values.

Each row is one instruction of `f`, and what was on Python's value stack when Dynamo came to
it. No tensor is on that stack. A tensor argument is a `TensorVariable`: it knows a
dtype and a shape, and which graph node makes it. A Python number is a `ConstantVariable`:
its value is known, so arithmetic on it happens right here and leaves no node.
"""

import logging
import re

import torch

import tclab


def f(x):
    k = 3 - 1
    n = k * 10
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
assert len(c.graphs[0]) == 2  # x * 20, then + 1: the arithmetic on k and n left nothing
assert sum("TensorVariable()" in stack for _, _, stack in steps) >= 2
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
