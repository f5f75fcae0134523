# Kind: a container that grows is guarded by its length
# Explain: measure
# Symptom: compiles 6
# Right: compiled again at each call, because the list self.losses has one more entry; return the
#   loss and append outside.
# First screen has: losses | recompile || compiled again || compiles again || compiled anew | len ||
#   length || grows || append || entries | outside || return || after the call
# Not: dynamic=True | No fix is known
import torch
import torch.nn.functional as F


class Meter:
    """Computes a loss and remembers every one."""

    def __init__(self):
        self.losses = []

    def __call__(self, predicted, wanted):
        loss = F.smooth_l1_loss(predicted, wanted)
        self.losses.append(loss)
        return loss


meter = Meter()


def measure(predicted, wanted):
    return meter(predicted, wanted)


def example_inputs():
    return [(torch.randn(9), torch.randn(9)) for _ in range(6)]
