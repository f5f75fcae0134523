"""Recurrent layers, for a GPU that is not there.

Each stands between two linear layers of one module. Dynamo traces none of the three kinds by
default; before PyTorch 2.15 it gives the function up. With `allow_rnn` it traces them, and the
target refuses what cuDNN would run.
"""
# tclab: needs=triton timeout=180

import torch
from torch import nn

import tclab
from tclab.targets import TargetError


class Between(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.before, self.after = nn.Linear(8, 8), nn.Linear(8, 8)
        self.layer = kind(8, 8, batch_first=True)

    def forward(self, x):
        return self.after(self.layer(self.before(x))[0])


def counts(module):
    """Graphs, breaks and kernels; or what was refused."""
    try:
        c = tclab.capture(module, target="h200")(torch.randn(2, 5, 8))
    except TargetError as refused:
        return ("", "", "", refused.cause)
    return (len(c.graphs), len(c.breaks), len(c.kernels), "")


KINDS = (nn.RNN, nn.LSTM, nn.GRU)
rows = [(kind.__name__, "default", *counts(Between(kind))) for kind in KINDS]
with torch._dynamo.config.patch(allow_rnn=True):
    rows += [(kind.__name__, "allow_rnn", *counts(Between(kind))) for kind in KINDS]
columns = ("layer", "setting", "graphs", "breaks", "kernels", "refused")
tclab.show(tclab.Table("A recurrent layer between two linear ones", "layers", columns, rows))

version = tuple(map(int, torch.__version__.split(".")[:2]))
by_default = [row[2:] for row in rows[:3]]
if version < (2, 15):
    # claim: no-graph-by-default, torch < 2.15
    assert by_default == [(0, 1, 0, "")] * 3
else:
    # claim: a-graph-on-either-side-of-it, torch >= 2.15
    assert [row[:2] for row in by_default] == [(2, 1)] * 3 and all(row[2] for row in by_default)
# claim: refused-when-traced
assert all("cuDNN" in row[5] for row in rows[3:])
