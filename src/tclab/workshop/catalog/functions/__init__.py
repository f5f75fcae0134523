"""Define functions that compile to one or a few kernels.

Examples: `pointwise`, `reductions`, `indexing`, `products`. Builders: `kernels` with
`triton_kernels`, and `ceilings`.
"""
