"""Choose the kernel of scaled_dot_product_attention on a GPU by PyTorch's own rules.

`call` describes the call and the machine. The rules are in `shared`, `flash`, `efficient` and
`cudnn`; `versions` lists the rules of each PyTorch, and `choose` applies them. Only `torch_answers`
asks PyTorch itself.
"""
