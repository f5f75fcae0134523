# Kind: wrong numbers, silently
# Explain: window
# Symptom: differs
# Right: the compiled window is wrong (all columns become the first one); Inductor drops the clone
#   of the overlapping view.
# First screen has: differs from eager | at self.samples[:, 1:] | nductor | torch.roll ||
#   aot_eager_decomp_partition || torch.cat
# Not: equal to eager
import torch
from torch import nn


class SlidingWindow(nn.Module):
    """The last eight samples of each channel, newest first."""

    def __init__(self, channels=16, length=8):
        super().__init__()
        self.register_buffer(
            "samples", torch.arange(float(channels * length)).reshape(channels, length)
        )

    def forward(self, new):
        # Oldest out, newest in.
        self.samples[:, 1:] = self.samples[:, :-1].clone()
        self.samples[:, 0] = new
        return self.samples.mean(1)


window = SlidingWindow()


def example_inputs():
    return [(torch.full((16,), 100.0),), (torch.full((16,), 200.0),)]
