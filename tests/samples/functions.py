"""What the samples are compiled from. Compiled under a name of its own, see make.py."""

import torch

SHIFT = 3


def total(x):
    return (torch.relu(x + 1) * 2).sum()


def exponential(x):
    return torch.exp(x) + 1


def product(x, w):
    return torch.relu(x @ w).sum(-1)


def both_ways(x):
    return x.sum(0), x.sum(1)


def rows(x, index):
    return x[index] + 1


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = {"n": 2}

    def forward(self, x, power):
        x = x**power
        x = x * self.sizes["n"]
        return x + SHIFT


@torch.compiler.disable
def disabled(x):
    return x + 1


def prints(x):
    with torch.no_grad():
        x = x + 1
        print("break")
    return disabled(x)


def prints_in_a_loop(x):
    for i in range(2):
        x = x + i
        print("break")
    return x


def calls(x):
    return prints(x) + 1


class Marked(torch.Tensor):
    pass


def keeps_its_class(x):
    return x + 1


def rows_and_columns(x):
    return torch.softmax(x, -1), x.sum(0)


def gate(x, w):
    return torch.nn.functional.silu(x @ w) + 1
