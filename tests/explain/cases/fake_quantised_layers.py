# Kind: shapes of parameters reach the recompile limit
# Explain: fake_quantise
# Symptom: compiles 8
# Right: one helper for layers of ten shapes is compiled for each until the limit of 8; parameters
#   are static by default: detach, force_parameter_static_shapes=False, or a higher limit.
# First screen has: recompile limit || recompile_limit || limit of 8 | detach ||
#   force_parameter_static_shapes || recompile_limit
# Not: mark_dynamic(
import torch
from torch import nn


def fake_quantise(layer, bits=8):
    """The layer's weight, rounded to the grid of an integer with so many bits."""
    weight = layer.weight
    top = 2 ** (bits - 1) - 1
    scale = weight.abs().amax() / top
    return torch.clamp(torch.round(weight / scale), -top, top) * scale


def example_inputs():
    widths = [3, 5, 9, 12, 18, 22, 27, 33, 41, 50, 61]
    return [(nn.Linear(a, b),) for a, b in zip(widths, widths[1:], strict=False)]
