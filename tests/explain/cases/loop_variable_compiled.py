# Kind: nothing is compiled
# Explain: encoder
# Compiles: itself
# Symptom: frames 0
# Right: nothing is compiled: the compiled block is bound to the loop's variable and thrown away;
#   the model calls the old ones.
# First screen has: 0 frames || nothing is compiled || nothing was compiled || Nothing is compiled
#   || compiled nothing | at torch.compile(layer) || compile_blocks
# Not: No graph break: the code is in one graph
import torch
from torch import nn


class Feed(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))


class Encoder(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.layers = nn.ModuleList([Feed(24) for _ in range(depth)])

    def forward(self, tokens):
        for layer in self.layers:
            tokens = tokens + layer(tokens)
        return tokens


def compile_blocks(model):
    for layer in model.layers:
        layer = torch.compile(layer)
    return model


encoder = compile_blocks(Encoder())


def example_inputs():
    return (torch.randn(5, 24),)
