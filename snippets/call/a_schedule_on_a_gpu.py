"""A schedule over a compiled step, on a GPU.

AdamW as it is by default for parameters on a GPU, with `fused`, and with the learning rate in a
tensor. Each takes twelve steps under a schedule; Inductor compiles the step.
"""
# tclab: needs=cuda timeout=300

import torch

import tclab

STEPS = 12


def graphs(rate, **options):
    """Graphs that Dynamo makes of the step in twelve steps of a schedule."""
    torch._dynamo.reset()
    model = torch.nn.Linear(64, 64, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, **options)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=STEPS)
    step = torch.compile(optimizer.step)
    with tclab.capture() as c:
        for _ in range(STEPS):
            model(torch.ones(2, 64, device="cuda")).square().sum().backward()
            step()
            schedule.step()
    return len(c.graphs)


rows = [
    ("by default", "a number", graphs(0.01)),
    ("by default", "a tensor", graphs(torch.tensor(0.01))),
    ("foreach=True", "a number", graphs(0.01, foreach=True)),
    ("fused=True", "a number", graphs(0.01, fused=True)),
]
(*_, default), (*_, in_a_tensor), (*_, foreach), (*_, fused) = rows
# claim: the-default-is-foreach-and-compiles-again
assert default == foreach >= torch._dynamo.config.recompile_limit
# claim: in-a-tensor-it-compiles-once
assert in_a_tensor == 1
# claim: a-fused-step-is-not-one-graph
assert fused != 1

columns = ("AdamW", "learning rate", f"graphs in {STEPS} steps")
tclab.show(tclab.Table("A schedule on a GPU", "steps", columns, rows))
