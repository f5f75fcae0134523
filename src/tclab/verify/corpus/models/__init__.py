"""Whole models, as timm and transformers ship them, with random weights.

Networks for images are of the size they are published in. Networks for text have the width of the
published ones, or that of a small one, and a few layers: more of them repeat the same kernels.
The packages are imported when a model is made, so that the names can be listed without them.
"""
