"""Record the effects of calls: the result or the error of each call, and the state after all
calls.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from tclab.capturing import outputs
from tclab.capturing.agreement.setups import Setup
from tclab.capturing.torch_private import compiler, precision
from tclab.capturing.torch_private.rounded import Rounded, storage_address


@dataclass(frozen=True)
class ObservedValue:
    """One value of a result or of the state. For a tensor `data` is a copy and `facts` maps its
    properties to text; for a plain value `data` is the value; for another object it is None.
    `rounded` is the relative precision in which each element of a tensor of a run in float64 was
    rounded in the code, if it is known.
    """

    data: Any
    facts: dict[str, str]
    rounded: Rounded | None = None


@dataclass
class Observation:
    """The results of calls and the state after the calls, by name. `error` is the error that a call
    raised, or ''. `closed` maps each object in a result whose parts are not known to its type.
    `kept` are the tensors of the results, if there are several calls.
    """

    results: dict[str, ObservedValue] = field(default_factory=dict)
    state: dict[str, ObservedValue] = field(default_factory=dict)
    closed: dict[str, str] = field(default_factory=dict)
    kept: dict[str, torch.Tensor] = field(default_factory=dict)
    error: BaseException | None = None
    calls: int = 0

    def add_result(self, result: object, setup: Setup) -> None:
        """Record the result of a call before another call changes it."""
        self.calls += 1
        of_call = f" of call {self.calls}" if len(setup.calls) > 1 else ""
        owners = _map_storages(setup)
        for place, leaf, opened in outputs.open_outputs(result):
            name = f"{place}{of_call}"
            seen = observe(leaf, owners.get(_storage_address(leaf), ""))
            self.results[name] = seen
            if not opened or (isinstance(leaf, torch.Tensor) and seen.data is None):
                self.closed[name] = type(leaf).__name__
            if _storage_address(leaf):
                owners.setdefault(_storage_address(leaf), name)
            if len(setup.calls) > 1 and isinstance(leaf, torch.Tensor):
                self.kept[f"{name} after the last call"] = leaf
        facts = {"type": type(result).__name__, "structure": outputs.describe_structure(result)}
        self.results[f"the result{of_call}"] = ObservedValue(None, facts)
        self.state.update({name: ObservedValue(mode, {}) for name, mode in _modes().items()})

    def add_state(self, setup: Setup) -> None:
        """Record the state after the calls, including gradients, and the tensors of earlier
        results, which a later call may have changed.
        """
        self.results.update({name: observe(leaf) for name, leaf in self.kept.items()})
        self.kept.clear()
        owners: dict[int, str] = {}
        for name, leaf in setup.state():
            self.state[name] = observe(leaf, owners.get(_storage_address(leaf), ""))
            if _storage_address(leaf):
                owners.setdefault(_storage_address(leaf), name)
            if isinstance(leaf, torch.Tensor) and leaf.is_leaf and leaf.grad is not None:
                self.state[f"the gradient of {name.removeprefix('the ')}"] = observe(leaf.grad)


def observe(leaf: Any, owner: str = "") -> ObservedValue:
    """Record one value; `owner` names the value whose storage it shares."""
    if isinstance(leaf, torch.Tensor):
        rounded = precision.rounded_precision(leaf)
        return ObservedValue(_copy_data(leaf), _list_facts(leaf, owner), rounded)
    plain = isinstance(leaf, outputs.SIMPLE)
    return ObservedValue(leaf if plain else None, {"type": type(leaf).__name__})


def _modes() -> dict[str, Any]:
    """Return the modes in which a call leaves PyTorch and Python's random numbers, by what they
    are.
    """
    next_draw = random.Random()
    next_draw.setstate(random.getstate())
    return {
        "the next number of Python's random": next_draw.random(),
        "the grad mode after the calls": "on" if torch.is_grad_enabled() else "off",
        "the default dtype after the calls": str(torch.get_default_dtype()),
    }


def _list_facts(tensor: torch.Tensor, owner: str) -> dict[str, str]:
    facts = {
        "type": type(tensor).__name__,
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": str(tuple(tensor.shape)),
        "layout": str(tensor.layout).removeprefix("torch."),
        "device": str(tensor.device),
        "requires_grad": str(tensor.requires_grad),
    }
    if tensor.requires_grad and tensor.is_leaf:
        facts["requires_grad"] += ", as a leaf"
    if tensor.layout == torch.sparse_coo and tensor.is_coalesced():
        facts["layout"] += ", coalesced"
    if tensor.layout == torch.strided:
        facts["strides"] = str(_significant_strides(tensor))
        offset = f" from element {at}" if (at := tensor.storage_offset()) else ""
        facts["aliasing"] = f"a view of {owner}{offset}" if owner else "storage of its own"
    return facts


def _significant_strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """Return the strides of a tensor, without the strides of dimensions of size 1, because these do
    not matter.
    """
    sized = zip(tensor.shape, tensor.stride())
    return tuple(stride if size > 1 else 0 for size, stride in sized) if tensor.numel() else ()


def _copy_data(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return a copy of the values; None for a tensor whose values cannot be read."""
    try:
        with torch.no_grad(), compiler.without_subclasses():
            if tensor.is_meta:
                return None
            data = tensor.detach()
            data = data.dequantize() if data.is_quantized else data
            data = data.to_dense() if data.layout != torch.strided else data
            return data.clone()
    except (RuntimeError, NotImplementedError):
        return None


def _storage_address(leaf: Any) -> int:
    """Return the address of a tensor's storage; 0 for an object without one."""
    has_storage = isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided and leaf.numel()
    return storage_address(leaf) if has_storage else 0


def _map_storages(setup: Setup) -> dict[int, str]:
    """Map the address of each storage to the first name in the state that uses it."""
    pairs: Iterator[tuple[int, str]] = (
        (_storage_address(leaf), name) for name, leaf in setup.state()
    )
    found: dict[int, str] = {}
    for at, name in pairs:
        if at:
            found.setdefault(at, name)
    return found
