"""A verdict follows from cases: one belief tried in two, in two others, in both, and in one."""

import torch
from _beliefs import DOES_NOT, HOLDS, OF_ONE_CASE, Beliefs, count, graphs, transformer_layer


def doubles(x):
    return x * 2


def prints(x):
    y = x * 2
    print(end="")
    return y + 1


def saves(x):
    y = x * 2
    torch.save(y, "/dev/null")
    return y + 1


def tried(fn, *size):
    """Whether a call makes one graph, and what was seen."""
    number = graphs(fn, torch.ones(size))
    return number == 1, count(number, "graph")


beliefs = Beliefs("A function is one graph")
plain = {"it doubles": tried(doubles, 4), "it is a layer": tried(transformer_layer(), 1, 2, 16)}
broken = {"it prints": tried(prints, 4), "it saves": tried(saves, 4)}
# claim: all
assert beliefs.judge("A function is one graph, tried where it computes", plain) == HOLDS
# claim: none
assert beliefs.judge("A function is one graph, tried where it prints", broken) == DOES_NOT
both = beliefs.judge("A function is one graph, tried in both", plain | broken)
# claim: some
assert both == "holds only if it doubles or it is a layer"
alone = beliefs.judge("A function is one graph, tried once", {"it prints": broken["it prints"]})
# claim: one
assert alone == DOES_NOT + OF_ONE_CASE
beliefs.show()
