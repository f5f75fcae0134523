"""Make whole models with random weights.

Examples: `text`, `vision`, `training`, `ways`, `further`. Builders: `timm_models`,
`transformers_models`, `torch_models`.

Networks for images have their published size. Networks for text have the width of a published or a
small one, and few layers, because more layers repeat the same kernels. Making an example imports
timm and transformers; listing the names does not.
"""
