"""Make whole models with random weights.

Modules with examples: `text`, `vision`, `training`, `ways`, `further`. Modules with builders:
`timm_models`, `transformers_models`, `torch_models`.

Image networks have their published size. Text networks have the width of a published network, or a
small width. They have few layers, because more layers repeat the same kernels. Making an example
imports timm and transformers; listing the names does not.
"""
