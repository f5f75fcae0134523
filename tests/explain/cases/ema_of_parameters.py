# Kind: shapes of parameters reach the recompile limit
# Explain: update_average
# Symptom: compiles 8
# Right: each parameter shape is compiled (parameters are static by default) until the limit of 8;
#   detach, or force_parameter_static_shapes=False, or a higher limit.
# First screen has: recompile limit || recompile_limit || limit of 8 | detach ||
#   force_parameter_static_shapes || recompile_limit
# Not: mark_dynamic(
import torch
from torch import nn

net = nn.ModuleList(nn.Linear(4 * k, 3 * k + 2, bias=False) for k in range(2, 12))
shadow = [p.detach().clone() for p in net.parameters()]


@torch.no_grad()
def update_average(average, parameter, decay=0.99):
    """One step of an exponential moving average of a model's weights."""
    average.mul_(decay).add_(parameter, alpha=1 - decay)
    return average.norm()


def example_inputs():
    return list(zip(shadow, net.parameters(), strict=True))
