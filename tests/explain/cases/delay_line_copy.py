# Kind: wrong numbers, silently
# Explain: feed
# Symptom: differs
# Right: the delay line's values differ from eager once compiled by Inductor; write it out of place
#   or with roll.
# First screen has: differs from eager | at .copy_(held) | nductor | torch.roll ||
#   aot_eager_decomp_partition || torch.cat
# Not: equal to eager
import torch


def feed(line, sample, gain=0.5):
    """Move a delay line on by two samples and mix its end in."""
    kept = line.narrow(0, 0, line.shape[0] - 2)
    held = kept.clone()
    line.narrow(0, 2, line.shape[0] - 2).copy_(held)
    line[:2] = sample
    return line[-2:] * gain + sample


def example_inputs():
    return (torch.linspace(0, 1, 512), torch.tensor([5.0, 6.0]))
