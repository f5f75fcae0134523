"""Three ways to compile a module, on five modules.

`torch.compile(m)` wraps, `m.compile()` installs, `m.forward = torch.compile(m.forward)` replaces
one method. The table counts graphs after two calls. Before PyTorch 2.14 `m.compile()` compiles
nothing of its own where the class belongs to `torch.nn`: Dynamo skips that code, and says nothing.
"""

import copy
import io
import logging
import operator
import warnings

import torch
from torch._dynamo.testing import EagerAndRecordGraphs

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
    """The operations of each graph."""
    torch._dynamo.reset()
    backend, x = EagerAndRecordGraphs(), torch.randn(2, 4)
    ready = way(copy.deepcopy(module), backend)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(ready(x), module(x))
    return [[n.target for n in g.graph.nodes if n.op.startswith("call")] for g in backend.graphs]


def said(module):
    """The warnings, and the lines in Dynamo's log, of calls after `m.compile()`."""
    lines, log = io.StringIO(), logging.getLogger("torch._dynamo")
    handler = logging.StreamHandler(lines)
    handler.setLevel(logging.WARNING)
    log.addHandler(handler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graphs(module, install)
    log.removeHandler(handler)
    return [str(w.message) for w in caught] + lines.getvalue().splitlines()


MODULES = {
    "a class of your own": Block(),
    "one that holds two of them": Pair(),
    "nn.Linear": torch.nn.Linear(4, 4),
    "nn.Sequential of nn.Linear, nn.ReLU": torch.nn.Sequential(
        torch.nn.Linear(4, 4), torch.nn.ReLU()
    ),
    "nn.Sequential of two of your own": torch.nn.Sequential(Block(), Block()),
}
ways = {name: [graphs(m, way) for way in (wrap, install, replace)] for name, m in MODULES.items()}
made = {name: [len(of_way) for of_way in of_module] for name, of_module in ways.items()}
F = torch.nn.functional
block = [F.linear, torch.relu, operator.add]

# claim: three-ways-for-a-class-of-your-own
assert ways["a class of your own"] == [[block]] * 3
# claim: submodules-are-in-the-same-graph
assert ways["one that holds two of them"] == [[block * 2]] * 3
# claim: wrapping-works-for-all
assert all(graphs[0] == 1 for graphs in made.values())
bare = made["nn.Linear"][1], made["nn.Sequential of nn.Linear, nn.ReLU"][1]
held = ways["nn.Sequential of two of your own"][1]
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 14):
    # claim: a-bare-layer-is-not-compiled, torch < 2.14
    assert bare == (0, 0)
    # claim: and-no-warning-says-so, torch < 2.14
    assert said(MODULES["nn.Linear"]) == []
    # claim: what-it-holds-of-your-own-is, torch < 2.14
    assert held == [block]  # one block's operations: both share the entry
else:
    # claim: a-bare-layer-is-compiled-later, torch >= 2.14
    assert bare == (1, 1)
    # claim: it-is-compiled-whole-later, torch >= 2.14
    assert held == [block * 2]

columns = ("module", "torch.compile(m)", "m.compile()", "m.forward = torch.compile(m.forward)")
tclab.show(tclab.Table("Graphs made", "graphs", columns, [(n, *g) for n, g in made.items()]))
