"""Causes: Python needs a value that the graph has not computed.

Each function breaks as it is, and is one graph as mended, with the same result. The cure is mostly
to stay with tensors: compute both sides, mask instead of select, let the graph itself loop.
"""

import torch
from _gallery import COLUMNS, gallery, unbroken, unmended

import tclab


def an_if_on_a_tensor(x):
    return x.cos() if x.sum() > 0 else x


def where(x):
    return torch.where(x.sum() > 0, x.cos(), x)


def item(x):
    return x * x.sum().item()


def no_item(x):
    return x * x.sum()


def to_a_list(x):
    return x * x.tolist()[0]


def index(x):
    return x * x[0]


def nonzero(x):
    return torch.nonzero(x).sum()


def positions(x):
    return torch.where(x != 0, torch.arange(x.numel()), 0).sum()


def a_mask_as_index(x):
    return x[x > 0.5].sum()


def a_mask_as_mask(x):
    return torch.where(x > 0.5, x, 0).sum()


def a_while_on_a_tensor(x):
    while x.sum() < 20:
        x = x * 2
    return x


def while_in_the_graph(x):
    return torch.while_loop(lambda x: x.sum() < 20, lambda x: (x * 2,), (x,))[0]


def an_assert_with_a_value(x):
    assert x.sum() > 0, f"the sum is {x.sum()}"
    return x.sin()


def an_assert_with_a_text(x):
    assert x.sum() > 0, "the sum is not positive"
    return x.sin()


def equal(x):
    return x.cos() if torch.equal(x, x.abs()) else x


def equal_elements(x):
    return torch.where((x == x.abs()).all(), x.cos(), x)


def sort_in_python(x):
    return sorted([x.sum(), x.mean()])[0]


def smallest(x):
    return torch.stack([x.sum(), x.mean()]).min()


rows = gallery(
    [(an_if_on_a_tensor, where), (item, no_item), (to_a_list, index), (nonzero, positions),
     (a_mask_as_index, a_mask_as_mask), (a_while_on_a_tensor, while_in_the_graph),
     (an_assert_with_a_value, an_assert_with_a_text), (equal, equal_elements),
     (sort_in_python, smallest)],
    torch.tensor([0.25, 0.75, 1.0, 2.0]),
)  # fmt: skip
# claim: each-breaks
assert not unbroken(rows), unbroken(rows)
# claim: each-is-mended
assert not unmended(rows), unmended(rows)
tclab.show(tclab.Table("A value is needed now", "causes", COLUMNS, rows))
