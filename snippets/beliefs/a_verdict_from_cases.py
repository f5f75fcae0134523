"""A verdict follows from cases: one belief tried in one, in another, and in both."""

import torch
from _beliefs import DOES_NOT, HOLDS, Beliefs, count, graphs


def doubles(x):
    return x * 2


def prints(x):
    y = x * 2
    print(end="")
    return y + 1


def tried(fn):
    """Whether a call makes one graph, and what was seen."""
    number = graphs(fn, torch.ones(4))
    return number == 1, count(number, "graph")


beliefs = Beliefs("A function is one graph")
plain, broken = {"it only computes": tried(doubles)}, {"it prints": tried(prints)}
# claim: all
assert beliefs.judge("A function is one graph, tried where it only computes", plain) == HOLDS
# claim: none
assert beliefs.judge("A function is one graph, tried where it prints", broken) == DOES_NOT
both = beliefs.judge("A function is one graph, tried in both", plain | broken)
# claim: some
assert both == "holds only if it only computes"
beliefs.show()
