"""Three ways to compile a module, on five modules.

`torch.compile(m)` wraps, `m.compile()` installs, `m.forward = torch.compile(m.forward)` replaces
one method. The table counts graphs after two calls. Before PyTorch 2.14 `m.compile()` compiles
nothing of its own where the class belongs to `torch.nn`: Dynamo skips that code, and says nothing.
"""

import copy

import torch
from torch._dynamo.testing import CompileCounter

import tclab


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        return x + torch.relu(self.lin(x))


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x):
        return self.second(self.first(x))


def wrap(module, backend):
    return torch.compile(module, backend=backend)


def install(module, backend):
    module.compile(backend=backend)
    return module


def replace(module, backend):
    module.forward = torch.compile(module.forward, backend=backend)
    return module


def graphs(module, way):
    torch._dynamo.reset()
    counter, x = CompileCounter(), torch.randn(2, 4)
    ready = way(copy.deepcopy(module), counter)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(ready(x), module(x))
    return counter.frame_count, counter.op_count


MODULES = {
    "a class of your own": Block(),
    "one that holds two of them": Pair(),
    "nn.Linear": torch.nn.Linear(4, 4),
    "nn.Sequential of nn.Linear, nn.ReLU": torch.nn.Sequential(
        torch.nn.Linear(4, 4), torch.nn.ReLU()
    ),
    "nn.Sequential of two of your own": torch.nn.Sequential(Block(), Block()),
}
counts = {name: [graphs(m, way) for way in (wrap, install, replace)] for name, m in MODULES.items()}
made = {name: [graphs for graphs, _ in ways] for name, ways in counts.items()}
operations = {name: [number for _, number in ways] for name, ways in counts.items()}

# claim: three-ways-for-a-class-of-your-own
assert made["a class of your own"] == [1, 1, 1]
assert operations["a class of your own"] == [3, 3, 3]
# claim: submodules-are-in-the-same-graph
assert made["one that holds two of them"] == [1, 1, 1]
assert operations["one that holds two of them"] == [6, 6, 6]
# claim: wrapping-works-for-all
assert all(graphs[0] == 1 for graphs in made.values())
bare = made["nn.Linear"][1], made["nn.Sequential of nn.Linear, nn.ReLU"][1]
held = counts["nn.Sequential of two of your own"][1]
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 14):
    # claim: a-bare-layer-is-not-compiled, torch < 2.14
    assert bare == (0, 0)
    # claim: what-it-holds-of-your-own-is, torch < 2.14
    assert held == (1, 3)  # one block's operations: both share the entry
else:
    # claim: a-bare-layer-is-compiled-later, torch >= 2.14
    assert bare == (1, 1)
    # claim: it-is-compiled-whole-later, torch >= 2.14
    assert held == (1, 6)

columns = ("module", "torch.compile(m)", "m.compile()", "m.forward = torch.compile(m.forward)")
tclab.show(tclab.Table("Graphs made", "graphs", columns, [(n, *g) for n, g in made.items()]))
