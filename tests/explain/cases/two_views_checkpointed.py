# Kind: compiled backward needs more memory than eager
# Explain: contrast --backward
# Symptom: memory 1.4
# Right: two passes through the checkpointed layers: the compiled backward recomputes many of them
#   before it needs them and holds more memory than eager; compile the layers one by one.
# First screen has: memory || MiB || peak | recompute || checkpoint | each block || regional ||
#   block by block || blocks one by one
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

LAYERS = nn.ModuleList(
    nn.Sequential(nn.LayerNorm(96), nn.Linear(96, 768), nn.Tanh(), nn.Linear(768, 96))
    for _ in range(10)
)


def tower(view):
    for layer in LAYERS:
        view = view + checkpoint(layer, view, use_reentrant=False)
    return view


def contrast(left, right):
    """How alike two views of the same batch are."""
    return nn.functional.cosine_similarity(tower(left), tower(right), dim=-1).mean()


def example_inputs():
    return torch.randn(48, 64, 96), torch.randn(48, 64, 96)
