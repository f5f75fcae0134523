# Kind: regions compiled one by one reach the limit
# Explain: backbone
# Compiles: itself
# Symptom: compiles 8
# Right: each block's own number self.depth is guarded, so each of ten compiled blocks compiles
#   forward anew until the limit of 8, and the last two run eagerly; raise recompile_limit, or make
#   the depth a tensor.
# First screen has: depth | limit | recompile_limit || tensor || buffer || argument
#   || isolate_recompiles
# Not: No graph break: the code is in one graph | No fix is known
import torch
from torch import nn


class ScaledBlock(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth
        self.norm, self.mlp = nn.LayerNorm(16), nn.Linear(16, 16)

    def forward(self, x):
        branch = self.mlp(self.norm(x))
        return x + branch / self.depth**0.5


class Backbone(nn.Module):
    def __init__(self, blocks=10):
        super().__init__()
        self.blocks = nn.ModuleList(ScaledBlock(k + 1) for k in range(blocks))
        for block in self.blocks:
            block.compile()

    @torch.no_grad()
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


backbone = Backbone().eval()


def example_inputs():
    return (torch.randn(3, 16),)
