"""Register a backend under a name, and what a wrong name gets."""

import torch
from torch._dynamo import register_backend

import tclab

calls = []


@register_backend
def count_and_run(graph, example_inputs):
    calls.append(len(graph.graph.nodes))
    return graph.forward


f = torch.compile(lambda x: torch.relu(x) + 1, backend="count_and_run")
f(torch.ones(3))

try:
    torch.compile(lambda x: x + 1, backend="count_and_ran")(torch.ones(3))
    error = ""
except Exception as problem:
    error = f"{type(problem).__name__}: {problem}".split("\n\n")[0]
tclab.show(error, title="A name that nobody registered", name="error")

# claim: the-name-leads-to-the-function
assert calls and calls[0] >= 3
# claim: a-wrong-name-is-an-error-that-says-where-to-look
assert "count_and_ran" in error and "list_backends" in error
