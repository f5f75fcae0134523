# Kind: lru_cache is ignored
# Explain: Tracker
# Symptom: differs
# Right: the state behind lru_cache is made anew in each compiled call, so nothing adds up: the
#   result differs from eager; hold it as a buffer or make it outside.
# First screen has: differs from eager | cache | outside || argument || buffer
# Not: Results: equal to eager | random, not comparable
import functools

import torch


class Tracker(torch.nn.Module):
    """Adds what it has seen to a state that is made on first use."""

    @staticmethod
    @functools.lru_cache
    def state(width):
        return torch.zeros(width)

    def forward(self, x):
        total = self.state(x.shape[-1])
        total.add_(x.sum(0))
        return torch.tanh(total * 0.01) + x.mean(0)


def example_inputs():
    return [(torch.ones(3, 5) * k,) for k in (1, 2, 3)]
