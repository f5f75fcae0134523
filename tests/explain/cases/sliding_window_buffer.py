# Kind: wrong numbers, silently
# Explain: window
# Symptom: differs
# Right: the compiled window is wrong (all rows become the first one); Inductor drops the clone
#   of the overlapping view.
# First screen has: differs from eager | at self.samples[1:] | nductor | torch.roll ||
#   aot_eager_decomp_partition || torch.cat
# Not: Results: equal to eager | random, not comparable
import torch
from torch import nn


class SlidingWindow(nn.Module):
    """The last eight samples, newest first, each of 64 channels."""

    def __init__(self, length=8, channels=64):
        super().__init__()
        self.register_buffer(
            "samples", torch.arange(float(length)).unsqueeze(1).repeat(1, channels)
        )

    def forward(self, scale):
        # Oldest out; the caller writes the newest into row 0.
        self.samples[1:] = self.samples[:-1].clone()
        return self.samples * scale


window = SlidingWindow()


def example_inputs():
    return [(torch.tensor(2.0),), (torch.tensor(3.0),)]
