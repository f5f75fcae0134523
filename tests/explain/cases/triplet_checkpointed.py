# Kind: compiled backward needs more memory than eager
# Explain: Triplet --backward
# Symptom: memory 1.4
# Right: the compiled backward recomputes the blocks of several traversals before it uses them, so
#   it holds more than eager; compile each block (regional).
# First screen has: memory || MiB || peak | recompute || checkpoint | each block || regional ||
#   block by block || blocks one by one
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Stage(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Sequential(
            nn.Linear(width, 6 * width), nn.SiLU(), nn.Linear(6 * width, width)
        )

    def forward(self, x):
        return x + self.mix(x)


class Triplet(nn.Module):
    """An anchor, a match and another go through the same stages, each one checkpointed."""

    def __init__(self, width=128, stages=8):
        super().__init__()
        self.stages = nn.ModuleList([Stage(width) for _ in range(stages)])

    def embed(self, x):
        for stage in self.stages:
            x = checkpoint(stage, x, use_reentrant=False)
        return x

    def forward(self, anchor, match, other):
        a, m, o = self.embed(anchor), self.embed(match), self.embed(other)
        return nn.functional.relu((a - m).square().mean() - (a - o).square().mean() + 1)


def example_inputs():
    return tuple(torch.randn(32, 48, 128) for _ in range(3))
