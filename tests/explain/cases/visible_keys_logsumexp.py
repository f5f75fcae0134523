# Kind: the compile fails in Inductor
# Explain: normaliser
# Symptom: raises KeyError
# Right: Inductor's C++ code fails (KeyError 'buf…') for the table written in place by index and
#   reduced along its rows; out of place or outside the function it compiles.
# First screen has: KeyError | nductor | at hidden[seen || at softmax( || at torch.full | out of
#   place || outside || aot_eager || max_fusion_size
# Not: raises without torch.compile too | raises without it too
import torch


def normaliser(logits):
    """The log of each visible key's share, for each query."""
    seen = torch.arange(12)
    hidden = torch.full((12, 12), -30.0)
    hidden[seen.unsqueeze(1), seen.unsqueeze(0)] = 0
    return torch.softmax(logits + hidden, dim=1).log()


def example_inputs():
    return (torch.randn(12, 12),)
