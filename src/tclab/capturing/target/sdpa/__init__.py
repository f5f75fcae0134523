"""Which kernel scaled_dot_product_attention gets on a GPU, by PyTorch's own rules.

`call` is what is asked, `checks` the conditions, `versions` which of them each PyTorch asks for
each backend, `choose` the answer. Nothing here asks a device.
"""
