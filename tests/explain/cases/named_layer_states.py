# Kind: regions compiled one by one reach the limit
# Explain: roll_out
# Compiles: itself
# Symptom: compiles 8
# Right: each cell's self.name picks its state and is guarded: ten compiled cells share one code and
#   reach the limit of 8; pass the state as an argument, or raise recompile_limit.
# First screen has: name | limit | recompile_limit || argument || pass
#   || isolate_recompiles
# Not: No graph break: the code is in one graph | No fix is known
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name
        self.gate = nn.Linear(6, 6)

    def forward(self, x, states):
        before = states[self.name]
        return torch.sigmoid(self.gate(x)) * before + x


NAMES = [f"cell_{letter}" for letter in "abcdefghij"]
CELLS = {name: torch.compile(Cell(name)) for name in NAMES}


@torch.no_grad()
def roll_out(x):
    states = {name: torch.ones(6) * len(name) for name in NAMES}
    for cell in CELLS.values():
        x = cell(x, states)
    return x


def example_inputs():
    return (torch.randn(2, 6),)
