"""DDP and a layer that not each step uses: what its settings do under compile.

One process with gloo and the backend `aot_eager`. The error that the table names is *Expected to
have finished reduction in the prior iteration*.
"""

import os
import warnings

import torch
import torch.distributed as dist
from torch._dynamo.testing import CompileCounterWithBackend
from torch.nn.parallel import DistributedDataParallel

import tclab

warnings.simplefilter("ignore")
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
dist.init_process_group("gloo", rank=0, world_size=1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)

    def forward(self, x, uses_second):
        x = torch.relu(self.first(x))
        return self.second(x) if uses_second else x


def steps(pattern, compiled, **settings):
    """How many steps went well, of how many, and the graphs; each step uses the layer or not."""
    torch._dynamo.reset()
    model = DistributedDataParallel(Net(), **settings)
    counter = CompileCounterWithBackend("aot_eager")
    call = torch.compile(model, backend=counter) if compiled else model
    done = 0
    try:
        for uses_second in pattern:
            call(torch.ones(8, 64), uses_second).sum().backward()
            done += 1
    except RuntimeError as error:
        assert "Expected to have finished reduction" in str(error)
    return f"{done} of {len(pattern)}", counter.frame_count


WAYS = {"nothing": {}, "find_unused_parameters": {"find_unused_parameters": True},
        "static_graph": {"static_graph": True}}  # fmt: skip
PATTERNS = {"always": (True,) * 3, "never": (False,) * 3, "in turns": (True, False, True)}
found = {
    (way, name, compiled): steps(pattern, compiled, **settings)
    for way, settings in WAYS.items()
    for name, pattern in PATTERNS.items()
    for compiled in (False, True)
}
rows = [
    (way, name, found[way, name, False][0], *found[way, name, True])
    for way in WAYS
    for name in PATTERNS
]
columns = ("setting of DDP", "the layer is used", "eager: steps", "compiled: steps", "graphs")
tclab.show(tclab.Table("Three steps", "steps", columns, rows))
went = {(way, name): done for way, name, _, done, _ in rows}

# claim: compiled-fails-where-eager-fails
assert all(eager == compiled for _, _, eager, compiled, _ in rows)
assert went["nothing", "always"] == "3 of 3"
assert went["nothing", "never"] == "1 of 3" and went["nothing", "in turns"] == "2 of 3"
# claim: find-unused-takes-each-pattern
assert {went["find_unused_parameters", name] for name in PATTERNS} == {"3 of 3"}
# claim: a-static-graph-takes-one-pattern
assert went["static_graph", "never"] == "3 of 3" and went["static_graph", "in turns"] == "2 of 3"
# claim: each-pattern-is-a-graph
assert found["find_unused_parameters", "in turns", True][1] == 2
assert found["find_unused_parameters", "never", True][1] == 1
dist.destroy_process_group()
