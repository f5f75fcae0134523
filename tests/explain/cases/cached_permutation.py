# Kind: lru_cache is ignored
# Explain: shuffle
# Symptom: differs
# Right: functools.cache is ignored in compiled code: the permutation that eager draws once is drawn
#   in each call; draw it outside and pass it in.
# First screen has: cache | order( || at torch.randperm || at index_select || at def order | each
#   call || every call || ignored || ignores || again | outside || argument || buffer
# Not: Results: equal to eager | random, not comparable
from functools import cache

import torch


@cache
def order(channels):
    """One order of the channels for the whole run."""
    return torch.randperm(channels)


def shuffle(image):
    return image.index_select(1, order(image.shape[1]))


def example_inputs():
    image = torch.arange(64.0).reshape(1, 64, 1)
    return [(image,), (image,)]
