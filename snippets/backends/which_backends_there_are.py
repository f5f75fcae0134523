"""The backends of this installation, each asked to compile a small function."""

import torch
from torch._dynamo.backends.registry import list_backends

import tclab


def f(x):
    return torch.relu(x) + 1


def outcome(name):
    torch._dynamo.reset()
    try:
        result = torch.compile(f, backend=name)(torch.ones(3))
    except Exception as error:
        while error.__cause__ is not None or getattr(error, "inner_exception", None) is not None:
            error = getattr(error, "inner_exception", None) or error.__cause__
        first = [*str(error).strip().splitlines(), ""][0]
        return f"{type(error).__name__}: {first}"
    return "right" if torch.equal(result, f(torch.ones(3))) else "wrong"


public = list_backends()
rows = [
    (name, "public" if name in public else "for debugging or tests", outcome(name))
    for name in sorted(list_backends(exclude_tags=()))
]
tclab.show(tclab.Table(
    title="Backends that are registered", name="backends",
    columns=("name", "kind", "relu(x) + 1"), rows=rows,
))  # fmt: skip
outcomes = {name: told for name, _, told in rows}

# claim: inductor-is-one-of-them
assert "inductor" in public
# claim: debugging-backends-are-hidden-by-default
assert {"eager", "aot_eager"} <= set(outcomes) and not {"eager", "aot_eager"} & set(public)
four = ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
# claim: the-four-of-this-page-are-right
assert all(outcomes[name] == "right" for name in four), outcomes
# claim: some-cannot-run-here
assert any("No module named" in outcomes[name] for name in public), outcomes
