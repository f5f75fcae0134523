# Kind: the compile fails in Inductor
# Explain: transition
# Symptom: raises KeyError
# Right: the compile fails in Inductor's C++ backend (KeyError 'buf…'): a table written by index and
#   normalised by rows; a fault of PyTorch; build it out of place or outside.
# First screen has: KeyError | nductor | at table[states || at total / total || at observed * table
#   || at torch.full | out of place || outside || aot_eager || max_fusion_size
# Not: raises without torch.compile too | raises without it too
import torch


def transition(observed):
    """Rows that sum to one, after the allowed pairs were opened."""
    states = torch.arange(10)
    table = torch.full((10, 10), 1e-3)
    table[states.unsqueeze(0), states.unsqueeze(1)] = 1
    total = observed * table
    return total / total.sum(dim=-1, keepdim=True)


def example_inputs():
    return (torch.rand(10, 10) + 0.1,)
