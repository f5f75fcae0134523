"""Dynamo executes your bytecode, with stand-ins for values.

Each card is one instruction of `f`: Python's value stack when Dynamo came to it, and what it
added to the graph. No tensor is on that stack. A tensor argument is a `TensorVariable`: it knows a
dtype and a shape, and which graph node makes it. A Python number is a `ConstantVariable`:
its value is known, so arithmetic on it happens right here and leaves no node. (CPython itself
would compute `3 - 1` before Dynamo saw it; through a variable it does not.)
"""

import torch

import tclab


def f(x):
    k = 3
    n = k - 1
    return x * n + 1


walk = tclab.steps(f, torch.randn(8))
graph = tclab.capture(f, backend="eager")(torch.randn(8)).graphs[0]
minus, times, plus = (step for step in walk if step.name == "BINARY_OP")

# claim: an-argument-is-lazy
assert "LazyVariableTracker(unrealized" in times.stack[0] and "Lazy" not in plus.stack[0]
# claim: known-numbers-leave-no-node
assert minus.nodes == () and times.stack[1] == "ConstantVariable(int: 2)"
# claim: a-constants-value-is-known
assert minus.stack == ("ConstantVariable(int: 3)", "ConstantVariable(int: 1)")
# claim: a-tensor-makes-a-node
assert (times.nodes[-1:], plus.nodes, plus.stack[0][:15]) == (("mul",), ("add",), "TensorVariable(")
# claim: an-argument-is-an-input-once-it-is-used
assert times.nodes == ("l_x_", "mul")
stacks = [value for step in walk for value in step.stack]
# claim: no-tensor-on-the-stack
assert stacks and not any("Tensor(" in value or "tensor(" in value for value in stacks)

tclab.show(walk)
tclab.show(graph, name="graph")
