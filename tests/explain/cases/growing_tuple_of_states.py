# Kind: a container that grows is guarded by its length
# Explain: step
# Symptom: compiles 6
# Right: each call gets a tuple that is one longer, and its length is guarded, so each call compiles
#   again; hand a tensor of fixed size, or stack the states.
# First screen has: past | recompile || compiled again || compiles again || compiled anew | len ||
#   length || grows | stack || tensor || outside || fixed
# Not: No fix is known
import torch


def step(past, x):
    """Attend to all earlier states."""
    state = torch.tanh(x)
    if past:
        earlier = torch.stack(past, dim=1)  # [batch, steps, width]
        weights = torch.softmax((earlier * state.unsqueeze(1)).sum(-1), -1)
        state = state + (weights.unsqueeze(-1) * earlier).sum(1)
    return (*past, state)


def example_inputs():
    return [(tuple(torch.randn(2, 8) for _ in range(k)), torch.randn(2, 8)) for k in range(6)]
