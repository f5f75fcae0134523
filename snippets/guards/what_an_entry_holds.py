"""What a cache entry keeps in memory, by how many guards it has.

A stack of layers is compiled once for each of several values of a number that it is called with,
with the backend `eager`, so that no kernel counts. Python then collects its garbage, and the
allocator returns what is free; what the process holds more than before, over the entries, is one.
"""
# tclab: alone=true timeout=180

import ctypes
import gc

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

import tclab

ENTRIES = 10
C = ctypes.CDLL(None)


class Stack(torch.nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(depth)))

    def forward(self, x, number):
        return self.layers(x) + number


def resident():
    """Bytes of memory that the process holds, once what is free has been returned."""
    gc.collect()
    getattr(C, "malloc_trim", lambda _: 0)(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def measured(depth):
    """Guards of an entry, and its bytes."""
    torch._dynamo.reset()
    model, x = Stack(depth), torch.randn(1, 8)
    guards = len(tclab.capture(model, backend="eager")(x, 0).guards[0])
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager", dynamic=False)
    compiled(x, 0)
    before = resident()
    for number in range(1, 1 + ENTRIES):
        compiled(x, number)
    held = (resident() - before) / ENTRIES
    assert len(_debug_get_cache_entry_list(Stack.forward.__code__)) == ENTRIES + 1
    return depth, guards, held / 1024


torch.set_grad_enabled(False)
torch._dynamo.config.recompile_limit = 2 * ENTRIES
measured(4)  # the first compiles of a process
rows = [measured(depth) for depth in (4, 40)]
rows = [(*row, row[2] / row[1]) for row in rows]
columns = ("layers", "guards of an entry", "an entry holds", "over its guards")
units, formats = ("", "", "KiB", "KiB"), ("", "", ".0f", ".1f")
tclab.show(tclab.Table("An entry in memory", "memory", columns, rows, units=units, formats=formats))
few, many = rows

# claim: an-entry-holds-more-with-more-layers
assert many[1] > 5 * few[1] and many[2] > 3 * few[2], rows
# claim: kilobytes-a-guard
assert all(0.2 < row[3] < 20 for row in rows), rows
