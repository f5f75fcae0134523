# Kind: func.grad leaves a custom backward out
# Explain: domain_gradient
# Symptom: differs
# Right: compiled, torch.func.vjp differentiates the forward and leaves the reversed gradient out
#   (its sign is wrong); use torch.autograd.grad or a custom_op.
# First screen has: differs from eager | backward || Reverse | torch.autograd.grad ||
#   register_autograd || custom_op || torch.compiler.disable(
# Not: Results: equal to eager | random, not comparable
import torch


class Reverse(torch.autograd.Function):
    """Passes values on and turns gradients round, for domain-adversarial training."""

    @staticmethod
    def forward(features, strength):
        return features * 1.0

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.strength = inputs[1]

    @staticmethod
    def backward(ctx, upstream):
        return -ctx.strength * upstream, None


def domain_gradient(features, weight):
    def score(f):
        return (Reverse.apply(f, 0.3) @ weight).sigmoid()

    value, pull = torch.func.vjp(score, features)
    return pull(torch.ones_like(value))[0]


def example_inputs():
    return torch.linspace(-1, 1, 12).reshape(3, 4), torch.linspace(0, 1, 4)
