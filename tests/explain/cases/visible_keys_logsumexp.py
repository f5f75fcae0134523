# Kind: the compile fails in Inductor
# Explain: normaliser
# Symptom: raises KeyError
# Right: Inductor's C++ code fails (KeyError 'buf…') for the table written in place by index and
#   reduced along its rows; out of place or outside the function it compiles.
# First screen has: KeyError | nductor | at hidden[rows || at log_softmax || at fill_ | out of place
#   || outside || aot_eager
# Not: raises without torch.compile too | raises without it too
import torch


def normaliser(logits, rows):
    """log of the sum over the visible keys, for each query."""
    seen = torch.arange(16)
    hidden = torch.zeros(16, 16).fill_(-30.0)
    hidden[rows.unsqueeze(1), seen.unsqueeze(0)] = 0
    return torch.log_softmax(logits + hidden, dim=1)


def example_inputs():
    return torch.randn(16, 16), torch.arange(16)
