"""Recurrent layers, for a GPU that is not there.

Each stands between two linear layers of one module. Dynamo traces none of the three kinds by
default and gives the function up. With `allow_rnn` it traces them, and the target refuses what
cuDNN would run.
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

# claim: no-graph-by-default
assert [row[2:] for row in rows[:3]] == [(0, 1, 0, "")] * 3
# claim: refused-when-traced
assert all("cuDNN" in row[5] for row in rows[3:])
