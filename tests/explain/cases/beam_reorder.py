# Kind: wrong numbers, silently
# Explain: Beams
# Symptom: differs
# Right: the beams' token table differs from eager: Inductor copies overlapping rows front to back
#   without the clone.
# First screen has: differs from eager | at table[1:6] | nductor | torch.roll ||
#   aot_eager_decomp_partition || torch.cat
# Not: Results: equal to eager | random, not comparable
import torch


class Beams(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("tokens", torch.arange(6 * 32).reshape(6, 32))

    def forward(self, scores):
        best = scores.argmax(-1)
        return best, self.make_room()

    def make_room(self):
        table = self.tokens
        table[1:6].copy_(table[0:5].clone())  # make room for a beam in front
        return table


def example_inputs():
    return (torch.arange(32.0 * 9).reshape(32, 9),)
