# Kind: a later user of the compiled object fails
# Explain: resume
# Compiles: itself
# Symptom: raises _orig_mod
# Right: the compiled module's state_dict has keys with `_orig_mod.`, so the plain model cannot load
#   it; save the original's, or use model.compile().
# First screen has: _orig_mod | state_dict | .compile() || original || _orig_mod.state_dict
# Not: raises without torch.compile too | raises without it too
import io

import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 2))


def save(model):
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    return file


def resume(x):
    """Train compiled, save, and go on with a new model from the file."""
    model = torch.compile(build())
    model(x).sum().backward()
    again = build()
    again.load_state_dict(torch.load(save(model)))
    return again(x)


def example_inputs():
    return (torch.randn(4, 6),)
