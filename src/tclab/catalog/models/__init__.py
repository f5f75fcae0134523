"""Whole models with random weights. Examples: `text`, `vision`, `training`, `ways`. Builders:
`timm_models`, `transformers_models`, `torch_models`.

An example's network for images is of the size it is published in; one for text has the width of
the published one, or that of a small one, and a few layers: more repeat the same kernels. timm and
transformers are imported when an example is made, so that the names can be listed without them.
"""
