# Kind: regions compiled one by one reach the limit
# Explain: backbone
# Compiles: itself
# Symptom: compiles 8
# Right: each block's own number self.rate is guarded, so each of ten compiled blocks compiles
#   forward anew until the limit of 8, and the last two run eagerly; raise recompile_limit, or make
#   the rate a tensor.
# First screen has: rate | limit | recompile_limit || tensor || buffer || argument
# Not: No graph break: the code is in one graph | No fix is known
import torch
from torch import nn


class DropBlock(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.norm, self.mlp = nn.LayerNorm(16), nn.Linear(16, 16)

    def forward(self, x):
        branch = self.mlp(self.norm(x))
        return x + branch * (1.0 - self.rate)


class Backbone(nn.Module):
    def __init__(self, depth=10):
        super().__init__()
        self.blocks = nn.ModuleList(DropBlock(0.2 * k / depth) for k in range(depth))
        for block in self.blocks:
            block.compile()

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


backbone = Backbone().eval()


def example_inputs():
    return (torch.randn(3, 16),)
