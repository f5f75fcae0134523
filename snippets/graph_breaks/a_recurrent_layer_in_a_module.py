"""A recurrent layer in a module, and what becomes of the layers around it.

Dynamo takes no `nn.RNN`, `nn.GRU` or `nn.LSTM` unless `torch._dynamo.config.allow_rnn` is set.
Counted are the graphs of one call and their operations: of each layer alone, between two linear
layers in one `forward`, and where the layers around it are compiled for themselves.
"""

import torch
from torch import nn
from torch._dynamo.testing import CompileCounter

import tclab

LAYERS = (nn.RNN, nn.GRU, nn.LSTM)


class Tagger(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.first, self.layer, self.last = nn.Linear(4, 8), layer(8, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.last(self.layer(self.first(x))[0])


def counted(module, compile_it, **config):
    """Graphs of one call, and the operations in them; the result must be eager's."""
    torch._dynamo.reset()
    counter, x = CompileCounter(), torch.randn(3, 1, 4 if isinstance(module, Tagger) else 8)
    expected = module(x)
    with torch._dynamo.config.patch(config):
        torch.testing.assert_close(compile_it(module, counter)(x), expected)
    return counter.frame_count, counter.op_count


def whole(module, backend):
    return torch.compile(module, backend=backend)


def around(module, backend):
    module.first.forward = torch.compile(module.first.forward, backend=backend)
    module.last.forward = torch.compile(module.last.forward, backend=backend)
    return module


rows = [
    row
    for layer in LAYERS
    for row in (
        (layer.__name__, "alone", *counted(layer(8, 8), whole)),
        (layer.__name__, "between two linear layers", *counted(Tagger(layer), whole)),
        (layer.__name__, "so, with allow_rnn", *counted(Tagger(layer), whole, allow_rnn=True)),
        (layer.__name__, "so, only the linear layers", *counted(Tagger(layer), around)),
    )
]
alone, between, allowed, parts = ([row[2:] for row in rows[n::4]] for n in range(4))
# claim: no-graph-of-the-layer
assert alone == [(0, 0)] * 3
version = tuple(map(int, torch.__version__.split(".")[:2]))
if version < (2, 14):
    # claim: nor-of-the-forward-around-it, torch < 2.14
    assert between == [(0, 0)] * 3
if version >= (2, 15):
    # claim: what-is-around-it-has-its-own, torch >= 2.15
    assert between == parts
# claim: with-the-option-it-is-one-graph
assert all(graphs == 1 and operations > 2 for graphs, operations in allowed)
# claim: what-is-around-it-can-be-compiled
assert parts == [(2, 2)] * 3

columns = ("layer", "where", "graphs", "operations")
tclab.show(tclab.Table("Graphs of one call", "graphs", columns, rows))
