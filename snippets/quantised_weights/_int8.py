"""A weight of int8 numbers and one scale a row, as a subclass of torch.Tensor."""

from __future__ import annotations

import torch
from torch.utils._pytree import tree_map


class Int8(torch.Tensor):
    """Looks like its `dtype`, and holds `numbers`, int8, and `scales`, one a row."""

    flattened = 0  # how often one was taken apart

    @staticmethod
    def __new__(cls, numbers, scales, dtype):
        return torch.Tensor._make_wrapper_subclass(
            cls, numbers.shape, dtype=dtype, device=numbers.device
        )

    def __init__(self, numbers, scales, dtype):
        self.numbers, self.scales = numbers, scales

    def __repr__(self):
        return f"Int8({tuple(self.shape)}, {self.dtype})"

    def __tensor_flatten__(self):
        Int8.flattened += 1
        return ["numbers", "scales"], self.dtype

    @staticmethod
    def __tensor_unflatten__(inner, dtype, size, stride):
        return Int8(inner["numbers"], inner["scales"], dtype)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.nn.functional.linear:
            x, weight, bias = (*args, None)[:3]
            result = torch.nn.functional.linear(x, weight.numbers.to(x.dtype)) * weight.scales
            return result if bias is None else result + bias
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func in (torch.ops.aten.detach.default, torch.ops.aten.alias.default):
            (weight,) = args
            return Int8(weight.numbers, weight.scales, weight.dtype)
        args, kwargs = tree_map(lambda x: x.plain() if isinstance(x, Int8) else x,
                                (args, kwargs or {}))  # fmt: skip
        return func(*args, **kwargs)

    def plain(self):
        """The weight itself, up to roundings."""
        return self.numbers.to(self.dtype) * self.scales[:, None]


def quantised(weight):
    scales = weight.abs().amax(1) / 127
    numbers = (weight / scales[:, None]).round().to(torch.int8)
    return Int8(numbers, scales, weight.dtype)
