"""Causes: tensors, and corners of Python, that Dynamo has no model of.

New parameters, storages, changed sizes, sparse layouts; classes made in the function, frames that
are looked at. Do such things before, and hand in the result, or say them in a way that it knows.
"""

import sys

import torch
from _gallery import COLUMNS, gallery, unbroken, unmended

import tclab


class Two:
    value = 2


def a_new_parameter(x):
    return torch.nn.Parameter(x.sin()).cos()


def a_tensor_will_do(x):
    return x.sin().cos()


def a_module_made_inside(x):
    return torch.nn.LayerNorm(4)(x)


norm = torch.nn.LayerNorm(4)


def a_module_made_before(x):
    return norm(x)


def a_storage(x):
    return x.sin() * x.untyped_storage().nbytes()


def bytes_of_the_tensor(x):
    return x.sin() * x.nbytes


def out_of_another_size(x):
    result = torch.empty(0)
    torch.sin(x, out=result)
    return result.cos()


def out_of_the_right_size(x):
    result = torch.empty_like(x)
    torch.sin(x, out=result)
    return result.cos()


def resize(x):
    return x.sin().resize_(2)


def take_a_slice(x):
    return x.sin()[:2]


def sparse(x):
    return x.to_sparse().sum()


def dense(x):
    return x.sum()


def a_device_block(x):
    with torch.device("cpu"):
        return x + torch.ones(4)


def a_device_argument(x):
    return x + torch.ones(4, device="cpu")


def a_class_made_inside(x):
    class Three:
        value = 2

    return x.sin() * Three.value


def a_class_made_before(x):
    return x.sin() * Two.value


def the_frame(x):
    return x.sin() * bool(sys._getframe())


def no_frame(x):
    return x.sin() * 1


rows = gallery(
    [(a_new_parameter, a_tensor_will_do), (a_module_made_inside, a_module_made_before),
     (a_storage, bytes_of_the_tensor), (out_of_another_size, out_of_the_right_size),
     (resize, take_a_slice), (sparse, dense), (a_device_block, a_device_argument),
     (a_class_made_inside, a_class_made_before), (the_frame, no_frame)],
    torch.arange(4.0),
)  # fmt: skip
# claim: each-breaks
assert not unbroken(rows), unbroken(rows)
# claim: each-is-mended
assert not unmended(rows), unmended(rows)
tclab.show(tclab.Table("What Dynamo cannot model", "causes", COLUMNS, rows))
