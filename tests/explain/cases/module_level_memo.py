# Kind: an attribute that forward writes becomes a guard
# Explain: encode
# Symptom: compiles 2
# Right: call 2 compiles once more: the first call wrote the table into the global dictionary
#   _TABLES, which is guarded; fill it before.
# First screen has: _TABLES | recompile || compiled again || compiles again || compiled anew |
#   before || outside || up front
# Not: dynamic=True | No fix is known
import math

import torch

_TABLES = {}


def sinusoid(length, width):
    """Positions' sines and cosines, [length, width], made once for each size."""
    if (length, width) not in _TABLES:
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        angle = torch.arange(length).unsqueeze(1) * rate
        _TABLES[length, width] = torch.cat([angle.sin(), angle.cos()], dim=1)
    return _TABLES[length, width]


def encode(tokens):
    return tokens + sinusoid(tokens.shape[1], tokens.shape[2])


def example_inputs():
    return [(torch.randn(3, 14, 6),), (torch.randn(3, 14, 6),)]
