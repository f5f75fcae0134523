# Kind: shapes of parameters reach the recompile limit
# Explain: clip
# Symptom: compiles 8
# Right: compiled for each layer's shape up to the limit of 8, since parameters' sizes are static;
#   detach, or force_parameter_static_shapes=False, or a higher limit.
# First screen has: recompile limit || recompile_limit || limit of 8 | detach ||
#   force_parameter_static_shapes || recompile_limit
# Not: mark_dynamic(
import torch

SIZES = [17, 24, 31, 40, 52, 64, 71, 80, 96, 128, 144]


class Clipper:
    """Keeps a weight's rows in the unit ball."""

    def __init__(self, radius=1.0):
        self.radius = radius

    def __call__(self, weight):
        rows = weight.pow(2).sum(dim=1, keepdim=True).sqrt()
        return torch.where(
            rows > self.radius, weight * (self.radius / rows.clamp(min=1e-6)), weight
        )


clip_rows = Clipper()


def clip(weight):
    return clip_rows(weight)


def example_inputs():
    return [(torch.nn.Parameter(torch.randn(6, n)),) for n in SIZES]
