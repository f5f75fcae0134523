# Kind: a container that grows is guarded by its length
# Explain: log_norms
# Symptom: compiles 6
# Right: a new key in the dictionary at each call compiles again each time; return the value and
#   store it after the call, or make all keys first.
# First screen has: journal || HISTORY | recompile || compiled again || compiles again || compiled
#   anew | len || keys || key || grows | outside || return || after the call || first call
# Not: dynamic=True | No fix is known
from collections import defaultdict

import torch

HISTORY = defaultdict(list)


def log_norms(journal, gradient):
    """Note the norm of a gradient under the number of the step."""
    size = torch.linalg.vector_norm(gradient)
    journal[len(journal)].append(size)
    return gradient / (size + 1e-8)


def example_inputs():
    return [(HISTORY, torch.randn(4, 4)) for _ in range(6)]
