"""A schedule that changes more than the learning rate: `OneCycleLR` and Adam's `betas`.

The rate is a tensor, so it may change. `OneCycleLR` also cycles the momentum, which of Adam is the
first of its `betas`: a number of Python's. Inductor on a CPU.
"""
# tclab: needs=cxx timeout=180

import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch.optim.lr_scheduler import OneCycleLR

import tclab

STEPS = 2


def compiles(cycle_momentum):
    """Compiles of Adam's step, counted after each of the first steps."""
    torch._dynamo.reset()
    model = torch.nn.Linear(4, 4, bias=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1))
    scheduler = OneCycleLR(
        optimizer, max_lr=0.1, total_steps=20, cycle_momentum=cycle_momentum
    )
    counter = CompileCounterWithBackend("inductor")
    step, found = torch.compile(optimizer.step, backend=counter), []
    for _ in range(STEPS):
        model(torch.ones(2, 4)).sum().backward()
        step()
        scheduler.step()
        found.append(counter.frame_count)
    assert isinstance(optimizer.param_groups[0]["lr"], torch.Tensor)
    return found


cycled, alone = compiles(cycle_momentum=True), compiles(cycle_momentum=False)
columns = ("cycle_momentum", *(f"step {number}" for number in range(1, STEPS + 1)))
rows = [("True, the default", *cycled), ("False", *alone)]
tclab.show(tclab.Table("Compiles of Adam's step, the rate a tensor", "compiles", columns, rows))

# claim: cycled-momentum-compiles-again
assert cycled[0] == 1 < cycled[1]
# claim: without-it-once
assert alone == [1] * STEPS
