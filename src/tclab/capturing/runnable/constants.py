"""Read the tensors that a graph holds. PyTorch prints small ones with their values, rounded to four
digits, and of others the shape.
"""

from __future__ import annotations

import ast
from typing import Any

import torch

from tclab.capturing.read.output_code import dotted_name
from tclab.capturing.runnable.values import (
    Device,
    Items,
    TorchName,
    Value,
    read_value,
    refuse,
    shown,
)
from tclab.capturing.target import tracing

#: The most bytes of a constant.
_MOST_BYTES = 1 << 30


def make_constant(printed: ast.expr) -> torch.Tensor:
    """Return a tensor with the values, or else with the shape, of a printed one. Raises Refused for
    anything else.
    """
    match printed:
        case ast.Call(ast.Attribute(inner, "to"), [ast.Constant(str(device))], []):
            tensor = make_constant(inner)
            if device.startswith("cuda"):
                tracing.mark_for_target(tensor)
            return tensor
        case ast.Call(function, [values], keywords) if dotted_name(function) == "tensor":
            dtype = _read_dtype({str(k.arg): k.value for k in keywords})
            return torch.tensor(_plain(read_value(values, ())), dtype=dtype)
        case ast.Call(function, [shape], keywords) if dotted_name(function) == "torch.randn":
            return _zeros(
                read_value(shape, ()), _read_dtype({str(k.arg): k.value for k in keywords})
            )
        case ast.Call(function, _, keywords) if dotted_name(function) == "torch.randint":
            named = {str(k.arg): k.value for k in keywords}
            if "size" in named:
                return _zeros(read_value(named["size"], ()), _read_dtype(named))
    raise refuse(shown(printed), printed, "no tensor as PyTorch prints it")


def _read_dtype(named: dict[str, ast.expr]) -> torch.dtype | None:
    value = read_value(named["dtype"], ()) if "dtype" in named else None
    return as_dtype(value) if isinstance(value, TorchName) else None


def as_dtype(value: TorchName) -> torch.dtype | None:
    """Return the dtype with this name, or None if it names none."""
    found = getattr(torch, value.path.removeprefix("torch."), None)
    return found if isinstance(found, torch.dtype) else None


def _plain(value: Value) -> Any:
    if isinstance(value, Items):
        return [_plain(each) for each in value.values]
    if isinstance(value, (bool, int, float)):
        return value
    raise refuse("a tensor's values", ast.Constant(None), f"{type(value).__name__} is no number")


def _zeros(shape: Value, dtype: torch.dtype | None) -> torch.Tensor:
    """Return a tensor with this shape. What its values are in the job is not in the trace."""
    sizes = [each for each in _plain(shape) if isinstance(each, int) and each >= 0]
    count = 1
    for size in sizes:
        count *= size
    if count * 8 > _MOST_BYTES:
        raise refuse(f"a tensor of the shape {sizes}", ast.Constant(None), "it is too large")
    return torch.zeros(sizes, dtype=dtype)


def as_device(value: Device) -> torch.device:
    """Return a device of PyTorch. Raises Refused for one that is neither the CPU nor CUDA's."""
    if value.type not in ("cpu", "cuda", "meta"):
        raise refuse(f"device {value.type}", ast.Constant(None), "no target has it")
    return torch.device(value.type, 0) if value.type == "cuda" else torch.device(value.type)
