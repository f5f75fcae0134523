# Kind: an attribute that forward writes becomes a guard
# Explain: attend
# Symptom: compiles 2
# Right: call 2 compiles once more because the first call put the mask on the object (None before);
#   make it in __init__.
# First screen has: mask | recompile || compiled again || compiles again || compiled anew | __init__
#   || before the first call || buffer
# Not: dynamic=True | No fix is known
import torch


class CausalAttention:
    """Attention with a mask that is made when it is first needed."""

    def __init__(self, dim):
        self.dim = dim
        self.mask = None

    def causal(self, length, device):
        if self.mask is None or self.mask.size(0) < length:
            self.mask = torch.ones(length, length, dtype=torch.bool, device=device).tril()
        return self.mask[:length, :length]

    def __call__(self, q, k, v):
        scores = q @ k.transpose(-2, -1) / self.dim**0.5
        scores = scores.masked_fill(~self.causal(q.size(-2), q.device), float("-inf"))
        return scores.softmax(-1) @ v


attention = CausalAttention(8)


def attend(q, k, v):
    return attention(q, k, v)


def example_inputs():
    return [tuple(torch.randn(2, 10, 8) for _ in "qkv") for _ in range(3)]
