# Kind: an attribute that forward writes becomes a guard
# Explain: Smoother
# Symptom: compiles 5
# Right: compiled again at each call, because forward writes the Python number self.calls; keep it
#   as a tensor (a buffer) or count outside.
# First screen has: calls | recompile || compiled again || compiles again || compiled anew | buffer
#   || tensor || outside || allow_unspec_int_on_nn_module
# Not: No fix is known
import torch
from torch import nn


class Smoother(nn.Module):
    """A running mean whose bias is corrected by the number of calls, as Adam's is."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.register_buffer("mean", torch.zeros(20))

    def forward(self, x):
        self.calls += 1
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return self.mean / (1 - 0.9**self.calls)


def example_inputs():
    return [(torch.randn(6, 20),) for _ in range(5)]
