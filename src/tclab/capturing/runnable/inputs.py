"""Make the inputs of a graph: fake tensors, sizes and None."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from tclab.capturing.runnable import constants, sizes
from tclab.capturing.runnable.head import Argument
from tclab.capturing.runnable.syntax import PrintedGraph, Runnable
from tclab.capturing.runnable.values import Device, TorchName, read_value, refuse

# f32[8, s33][s33, 1]cuda:0
_TENSOR = re.compile(
    r"(?P<dtype>\w+)\[(?P<shape>[^\]]*)\]\[(?P<strides>[^\]]*)\](?P<device>[a-z]+)(?::\d+)?"
)
# Sym(s33)
_SIZE = re.compile(r"Sym\((.+)\)")
#: What PyTorch prints of a tensor beside its shape. Gradients do not exist below AOTAutograd.
_PRINTED = {"stride", "dtype", "storage_offset", "requires_grad", "is_leaf"}


def make_inputs(
    runnable: Runnable,
    mode: FakeTensorMode,
    symbols: Mapping[str, str],
    known: dict[str, sizes.Size],
) -> list[Any]:
    """Return the inputs of a graph. `symbols` maps an input that is a size to its expression, such
    as ``s33``, and `known` has the sizes of the symbols. Inputs that share a storage in the job
    share one here.
    """
    if len(runnable.arguments) != len(runnable.graph.inputs):
        raise refuse("load_args", ast.Constant(None), "it does not make the inputs of the graph")
    storages = Counter(_storage(each) for each in runnable.arguments if each.kind == "tensor")
    shared = frozenset(name for name, times in storages.items() if times > 1)
    maker = _Maker(runnable, mode, known, shared)
    pairs = zip(runnable.graph.inputs, runnable.arguments)
    return [maker.make(each, symbols.get(name, "")) for name, each in pairs]


def _storage(argument: Argument) -> str:
    first = argument.args[0] if argument.args else None
    return first.id if isinstance(first, ast.Name) else ""


def propagate_inside(
    module: fx.GraphModule,
    graph: PrintedGraph,
    mode: FakeTensorMode,
    known: Mapping[str, sizes.Size],
) -> None:
    """Note the shape of each node in the graphs inside of `module`, from the annotations of their
    inputs. Raises Refused for an input that is neither a tensor nor a size.
    """
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp

    for name, inner in graph.inner.items():
        submodule = module.get_submodule(name)
        if isinstance(submodule, fx.GraphModule):
            propagate_inside(submodule, inner, mode, known)
            values = [_from_type(text, mode, known) for text in inner.types]
            FakeTensorProp(submodule, mode=mode).propagate_dont_convert_inputs(*values)


def _from_type(text: str, mode: FakeTensorMode, known: Mapping[str, sizes.Size]) -> Any:
    from torch.utils._dtype_abbrs import dtype_abbrs

    if size := _SIZE.fullmatch(text):
        return sizes.compute_size(sizes.parse_size(size[1]), known)
    dtypes = {short: dtype for dtype, short in dtype_abbrs.items()}
    if (match := _TENSOR.fullmatch(text)) and match["dtype"] in dtypes:
        shape, strides = (
            sizes.compute_sizes(sizes.parse_size(f"[{match[part]}]"), known)
            for part in ("shape", "strides")
        )
        device = constants.as_device(Device(match["device"]))
        with mode:
            dtype = dtypes[match["dtype"]]
            return torch.empty_strided(shape, strides, dtype=dtype, device=device)
    raise refuse(text[:80], ast.Constant(None), "an input of this type is not known")


@dataclass
class _Maker:
    runnable: Runnable
    mode: FakeTensorMode
    known: dict[str, sizes.Size]
    shared: frozenset[str]
    bases: dict[tuple[str, torch.dtype], torch.Tensor] = field(default_factory=dict)

    def make(self, argument: Argument, symbol: str) -> Any:
        if argument.kind == "const":
            return None
        if argument.kind == "symint" and argument.args:
            printed = argument.kwargs.get("expr")
            named = printed.value if isinstance(printed, ast.Constant) else symbol
            if isinstance(named, str) and named:
                return sizes.compute_size(sizes.parse_size(named), self.known)
            return sizes.compute_size(argument.args[0], {})
        if argument.kind == "tensor":
            return self._make_tensor(argument)
        at = ast.Constant(None, lineno=argument.line)
        raise refuse(f"reader.{argument.kind}", at, "an input of this kind is not in a trace")

    def _make_tensor(self, argument: Argument) -> torch.Tensor:
        at = ast.Constant(None, lineno=argument.line)
        name = _storage(argument)
        if unknown := set(argument.kwargs) - _PRINTED:
            shown = f"reader.tensor({', '.join(sorted(unknown))}=…)"
            raise refuse(shown, at, "a tensor of this kind is new")
        if name not in self.runnable.storages or len(argument.args) < 2:
            raise refuse("reader.tensor", at, "its storage is not named before")
        size = sizes.compute_sizes(argument.args[1], self.known)
        printed = argument.args[2] if len(argument.args) > 2 else argument.kwargs.get("stride")
        strides = sizes.compute_sizes(printed, self.known) if printed else _contiguous(size)
        offset = argument.kwargs.get("storage_offset")
        start = sizes.compute_size(offset, self.known) if offset else 0
        dtype = self._dtype(argument)
        with self.mode:
            if name in self.shared or offset:
                return torch.as_strided(self._base(name, dtype), size, strides, start)
            return torch.empty_strided(size, strides, dtype=dtype, device=self._device(name))

    def _dtype(self, argument: Argument) -> torch.dtype:
        printed = argument.kwargs.get("dtype")
        value = read_value(printed, ()) if printed else None
        return (constants.as_dtype(value) if isinstance(value, TorchName) else None) or torch.float

    def _device(self, name: str) -> torch.device:
        device = self.runnable.storages[name].device
        return constants.as_device(device if isinstance(device, Device) else Device("cpu"))

    def _base(self, name: str, dtype: torch.dtype) -> torch.Tensor:
        """Return a tensor over the whole of a storage."""
        if (name, dtype) not in self.bases:
            length = sizes.compute_size(self.runnable.storages[name].length, self.known)
            self.bases[name, dtype] = torch.empty(
                [length // dtype.itemsize], dtype=dtype, device=self._device(name)
            )
        return self.bases[name, dtype]


def _contiguous(size: list[sizes.Size]) -> list[sizes.Size]:
    strides: list[sizes.Size] = []
    step: sizes.Size = 1
    for each in reversed(size):
        strides.insert(0, step)
        step = (
            step * torch.sym_max(each, 1) if isinstance(each, torch.SymInt) else step * max(each, 1)
        )
    return strides
