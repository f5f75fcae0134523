# Kind: func.grad leaves a custom backward out
# Explain: sensitivity
# Symptom: differs
# Right: compiled, torch.func.jacrev differentiates through exp itself, and the clamped backward is
#   left out; use torch.autograd.functional.jacobian/autograd.grad or a custom_op.
# First screen has: differs from eager | backward || SafeExp | torch.autograd || register_autograd
#   || custom_op || torch.compiler.disable(
# Not: Results: equal to eager | random, not comparable
import torch
from torch.autograd import Function
from torch.func import jacrev


class SafeExp(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.exp(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y.clamp(max=2.0)


def model(x):
    return SafeExp.apply(x).cumsum(0)


def sensitivity(x):
    return jacrev(model)(x)


def example_inputs():
    return (torch.tensor([0.1, 1.0, 2.0, 3.0]),)
