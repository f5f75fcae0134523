# Kind: the compile fails in Inductor
# Explain: BlockAttention
# Symptom: raises KeyError
# Right: the C++ backend of Inductor fails (KeyError 'buf…') on a mask filled in place and used in a
#   softmax; not the user's fault; build the mask out of place or outside.
# First screen has: KeyError | nductor | at bias[block || at .softmax( || at torch.full | out of
#   place || outside || aot_eager || max_fusion_size
# Not: raises without torch.compile too | raises without it too
import torch
from torch import nn


class BlockAttention(nn.Module):
    def __init__(self, length=12):
        super().__init__()
        self.length = length
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, scores):
        block = torch.arange(self.length, device=scores.device)
        bias = torch.full((self.length, self.length), float("-1e9"), device=scores.device)
        bias[block[:, None], block[None, :]] = 0.0
        weights = (scores * self.scale + bias).softmax(dim=-1)
        return weights


def example_inputs():
    return (torch.randn(12, 12),)
