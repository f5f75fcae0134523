"""Every guard of a small function.

Compiled code holds for the world it was compiled in. The guards are that world, written as
checks: this tensor has this dtype, device, rank and strides; this global still has
this value; gradient mode is as it was. All must hold before the compiled code may run.
"""

from collections import Counter

import torch

import tclab

SCALE = 3
options = {"shift": 1.5}


class Config:
    clip = True


config = Config()


def f(x, times, unused=None):
    y = x * SCALE + options["shift"]
    if config.clip:
        y = y.clamp(-1, 1)
    for _ in range(times):
        y = torch.relu(y)
    return y


c = tclab.capture(f, backend="eager")(torch.randn(8, 4), 2)
guards = c.guards[0]
kinds = Counter(g.type for g in guards)
sources = " ".join(g.source for g in guards)

assert kinds["TENSOR_MATCH"] == 1  # x, and only x, is a tensor
for name in ("x", "times", "SCALE", "options", "config"):
    assert name in sources, name  # everything f looked at is guarded
assert "unused" not in sources  # and what it did not look at is not

of = {kind: ", ".join(dict.fromkeys(g.source for g in guards if g.type == kind)) for kind in kinds}
tclab.show(
    tclab.Table(
        title="Guards by kind",
        columns=("kind", "guards", "of what"),
        rows=[(kind, kinds[kind], of[kind] or None) for kind in sorted(kinds)],
    ),
    name="by-kind",
)
tclab.show(guards, name="guards")
