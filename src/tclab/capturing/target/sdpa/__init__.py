"""Which kernel scaled_dot_product_attention gets on a GPU, by PyTorch's own rules.

`call` is what is asked. The rules are in `shared`, `flash`, `efficient` and `cudnn`; `versions`
has those that each PyTorch asks, `choose` the answer. Nothing here asks a device.
"""
