"""`set_stance`: what happens at a call that would compile again.

One function, warmed with two sizes that are guarded as numbers; then a third size comes. Counted
are the compiles of each stance, and what became of the call.
"""

import torch
from torch._dynamo.testing import CompileCounter

import tclab


def f(x):
    return x.sin() + 1


def third_size(stance):
    """Under a stance: compiles before and at a third size; compiled code run; the outcome.

    The calls are of the third size and of a warm one.
    """
    torch._dynamo.reset()
    counter, runs = CompileCounter(), []

    def backend(graph, inputs):
        compiled = counter(graph, inputs)
        return lambda *args: runs.append(1) or compiled(*args)

    fn = torch.compile(f, backend=backend, dynamic=False)
    for size in (8, 16):
        fn(torch.ones(size))
    warm = counter.frame_count
    runs.clear()
    with torch.compiler.set_stance(stance):
        try:
            x = torch.ones(24)
            outcome = "right" if torch.equal(fn(x), f(x)) else "wrong"
        except Exception as error:
            outcome = type(error).__name__
        fn(torch.ones(8))
    return warm, counter.frame_count - warm, len(runs), outcome


STANCES = ("default", "eager_on_recompile", "fail_on_recompile", "force_eager")
rows = {stance: third_size(stance) for stance in STANCES}
tclab.show(
    tclab.Table(
        title="A third size",
        name="stances",
        columns=("stance", "compiles before", "compiles at the third size", "the call"),
        rows=[(stance, row[0], row[1], row[3]) for stance, row in rows.items()],
    )
)

# claim: by-default-it-compiles-again
assert rows["default"][:2] == (2, 1)
# claim: eager-on-recompile-compiles-nothing
assert rows["eager_on_recompile"][1:] == (0, 1, "right")  # the warm size runs compiled
# claim: fail-on-recompile-raises
assert rows["fail_on_recompile"][1] == 0 and rows["fail_on_recompile"][3] not in ("right", "wrong")
# claim: force-eager-compiles-nothing
assert rows["force_eager"][1:] == (0, 0, "right")
