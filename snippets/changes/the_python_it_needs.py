"""The Python that an installed PyTorch asks for, as its wheel states it."""

from importlib.metadata import metadata

import torch

import tclab

needed = metadata("torch")["Requires-Python"]
release = tuple(map(int, torch.__version__.split(".")[:2]))
rows = [("Python", needed)]
tclab.show(tclab.Table("What the wheel requires", "requires", ("what", "is"), rows))

if release < (2, 15):
    # claim: python-3-10-will-do, torch < 2.15
    assert needed == ">=3.10"
else:
    # claim: python-3-11-is-needed, torch >= 2.15
    assert needed == ">=3.11"
