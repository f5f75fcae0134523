# Kind: func.grad leaves a custom backward out
# Explain: Neuron
# Symptom: differs
# Right: compiled, torch.func.grad_and_value takes the step function's own gradient (0) in place of
#   the surrogate; use loss.backward()/torch.autograd.grad or a custom_op.
# First screen has: differs from eager | backward || Spike | torch.autograd.grad ||
#   register_autograd || custom_op || torch.compiler.disable(
# Not: Results: equal to eager | random, not comparable
import torch
from torch import nn


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(potential):
        return (potential > 0).to(potential.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (potential,) = ctx.saved_tensors
        return grad / (1 + 10 * potential.abs()) ** 2


class Neuron(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("target", torch.ones(6))

    def loss(self, current):
        spikes = Spike.apply(current)
        return (spikes - self.target).square().mean()

    def forward(self, current):
        gradient, loss = torch.func.grad_and_value(self.loss)(current)
        return gradient, loss


def example_inputs():
    return (torch.linspace(-1, 1, 6),)
