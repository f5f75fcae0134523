# Kind: an example of size 1 is taken for a constant
# Explain: ship
# Compiles: itself
# Symptom: raises tokens
# Right: the example has one token, and a size of 1 is taken for a constant; export with an example
#   of 2 or more tokens.
# First screen has: 2 or more || least 2 || of two | constant || specialis || specializ | at
#   return export(
# Not: raises without torch.compile too | raises without it too | search PyTorch's issues
import torch
from torch.export import Dim, export


class Pooled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(30, 8)

    def forward(self, ids):
        vectors = self.embed(ids)
        return vectors.sum(1) if ids.shape[1] != 1 else vectors[:, 0]


def ship(ids):
    shapes = {"ids": {1: Dim("tokens", max=64)}}
    return export(Pooled().eval(), (ids,), dynamic_shapes=shapes)


def example_inputs():
    return (torch.tensor([[3], [7]]),)
