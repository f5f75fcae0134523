# Kind: wrong numbers, silently
# Explain: feed
# Symptom: differs
# Right: the delay line's values differ from eager once compiled by Inductor; write it out of place
#   or with roll.
# First screen has: differs from eager | at .copy_(held) | nductor | torch.roll ||
#   aot_eager_decomp_partition || torch.cat
# Not: Results: equal to eager | random, not comparable
import torch


def feed(line):
    """Move a delay line on by two samples; the caller puts the new ones in front."""
    kept = line.narrow(0, 0, line.shape[0] - 2)
    held = kept.clone()
    line.narrow(0, 2, line.shape[0] - 2).copy_(held)
    return line


def example_inputs():
    return (torch.linspace(0, 1, 512),)
