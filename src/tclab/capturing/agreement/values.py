"""Walk the values that a function can reach, each with a name, and copy them.

A copy shares nothing with the original, but has the same sharing within itself: tensors that share
a storage also share one in the copy, and an object that is reached twice is copied once.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, MethodType
from typing import Any

import torch

from tclab.capturing import outputs
from tclab.capturing.outputs import SIMPLE
from tclab.capturing.torch_private import compiler, hooks
from tclab.text import user_lines

#: PyTorch's own attributes of every module, except those that contain tensors and modules.
_MODULE_ATTRIBUTES = (
    frozenset(vars(torch.nn.Module())) | {"_is_torch_compile", "_torchdynamo_wrapper_id"}
) - {"training"}
#: The tables of hooks among them.
_HOOKS = [name for name in vars(torch.nn.Module()) if name.endswith("_hooks")]
#: Layouts of which PyTorch's own deep copy knows one only.
_SPARSE = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
#: The attributes of every optimizer.
_OPTIMIZER_ATTRIBUTES = frozenset(vars(torch.optim.SGD([torch.zeros(1)])))
_TABLES = ("_parameters", "_buffers", "_modules")

#: Address, bytes and type of a storage → its copy, as a tensor of one dimension.
Storages = dict[tuple[int, int, torch.dtype], torch.Tensor]
#: A function that converts a tensor with one dimension, for example to float64.
Convert = Callable[[torch.Tensor], torch.Tensor]


def walk(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield (name, leaf) for each tensor and plain value that `value` reaches through containers,
    modules, optimizers, objects of the user's classes and attributes of tensors, each object once.
    Hooks are counted.
    """
    yield from _walk(value, name, set())


def _walk(value: Any, name: str, seen_ids: set[int]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (torch.Tensor, *SIMPLE)):
        yield name, value
    if isinstance(value, SIMPLE) or id(value) in seen_ids:
        return
    seen_ids.add(id(value))
    for part, inner in _list_parts(value):
        yield from _walk(inner, name + part, seen_ids)


def _list_parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each part of an object, with the text to append to the object's name."""
    if isinstance(value, torch.Tensor):
        yield from outputs.list_tensor_attributes(value)
        if count := hooks.count_tensor_hooks(value):
            yield ".(hooks)", count
    elif isinstance(value, torch.nn.Module):
        yield from _parts_of_module(value)
    elif isinstance(value, torch.optim.Optimizer):
        yield from ((f".{name}", getattr(value, name)) for name in ("param_groups", "state"))
        yield from ((f".{name}", inner) for name, inner in _own_attributes(value).items())
    elif isinstance(value, (Mapping, list, tuple, deque)):
        yield from outputs.list_items(value) or ()
    elif is_users_object(value) or outputs.has_state(value):
        yield from outputs.list_parts(value) or ()


def _parts_of_module(module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    own = vars(module)
    # the object that torch.compile returns contains the original module
    if "_orig_mod" in own.get("_modules", {}):
        yield "", own["_modules"]["_orig_mod"]
        return
    for table in _TABLES:
        yield from ((f".{name}", inner) for name, inner in list(own.get(table, {}).items()))
    for name, inner in list(own.items()):
        if name not in _MODULE_ATTRIBUTES:
            yield f".{name}", inner
    for table in _HOOKS:
        if own.get(table):
            yield f".({table.strip('_').replace('_', ' ')})", len(own[table])


def is_users_object(value: Any) -> bool:
    """Return whether the value is an object with attributes whose class is defined in the user's
    code.
    """
    if isinstance(value, (type, FunctionType, MethodType)):
        return False
    has_attributes = hasattr(value, "__dict__") or any(outputs.list_slots(type(value)))
    return has_attributes and user_lines.is_users_class(type(value))


# --------------------------------------------------------------------------- copies


def deep_copy(value: Any, convert: Convert | None = None) -> Any:
    """Return a deep copy. With `convert`, the storage of each floating-point tensor is converted,
    and the copies of all tensors that share it have the new type. Raises the error of a value that
    cannot be copied.
    """
    memo: dict[int, Any] = {}
    storages: Storages = {}
    keep = []  # memo has id()s as keys, so the tensors must live until the copy is made
    with compiler.without_subclasses():
        for _, leaf in walk(value, ""):
            if not isinstance(leaf, torch.Tensor) or id(leaf) in memo:
                continue
            if _is_strided(leaf):
                memo[id(leaf)] = _copy_tensor(leaf, storages, convert)
            elif type(leaf) is torch.Tensor and leaf.layout in _SPARSE:
                memo[id(leaf)] = _copy_sparse(leaf, convert)
            else:
                continue
            keep.append(leaf)
        for leaf in keep:  # an attribute may be a tensor of the memo
            memo[id(leaf)].__dict__.update(copy.deepcopy(vars(leaf), memo))
    new = copy.deepcopy(value, memo)
    for each in memo.get(id(memo), ()):  # the objects that were copied
        if isinstance(each, torch.optim.Optimizer):
            vars(memo[id(each)]).update(copy.deepcopy(_own_attributes(each), memo))
    return new


def _own_attributes(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Return the attributes that an optimizer's class added, which PyTorch's copy leaves out."""
    return {
        name: inner
        for name, inner in vars(optimizer).items()
        if name not in _OPTIMIZER_ATTRIBUTES and not callable(inner)
    }


def _is_strided(tensor: torch.Tensor) -> bool:
    """Return whether a tensor is a plain view of its storage: it is not sparse, not quantized, and
    no wrapper of other tensors.
    """
    plain = type(tensor) in outputs.PLAIN_TENSORS or (
        type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__
        and not isinstance(tensor, torch.nn.Parameter)
    )
    return plain and tensor.layout == torch.strided and not tensor.is_quantized and (
        tensor.device.type != "meta" and not tensor.is_neg() and not tensor.is_conj()
    )  # fmt: skip


def _copy_tensor(tensor: torch.Tensor, storages: Storages, convert: Convert | None) -> torch.Tensor:
    whole = _copy_storage(tensor, storages, convert)
    new = whole.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    if isinstance(tensor, torch.nn.Parameter):
        new = torch.nn.Parameter(new, tensor.requires_grad)
    elif type(tensor) not in outputs.PLAIN_TENSORS:
        new = new.as_subclass(type(tensor))
    if tensor.requires_grad and (new.is_floating_point() or new.is_complex()):
        new.requires_grad_()
    if tensor.is_leaf and tensor.grad is not None:
        new.grad = _copy_tensor(tensor.grad, storages, convert)
    return new


def _copy_sparse(tensor: torch.Tensor, convert: Convert | None) -> torch.Tensor:
    with torch.inference_mode(False):
        new = tensor.detach().clone()
        new = convert(new) if convert and new.is_floating_point() else new
    return new.requires_grad_(tensor.requires_grad)


def _copy_storage(
    tensor: torch.Tensor, storages: Storages, convert: Convert | None
) -> torch.Tensor:
    """Return a copy of the whole storage as a tensor of one dimension. All views of one type share
    a copy.
    """
    storage = tensor.untyped_storage()
    key = (storage.data_ptr() or id(tensor), storage.nbytes(), tensor.dtype)
    if key not in storages:
        with torch.inference_mode(False), torch.no_grad():
            flat = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
            flat = flat.set_(storage, 0, (storage.nbytes() // tensor.dtype.itemsize,)).clone()
            storages[key] = convert(flat) if convert and flat.is_floating_point() else flat
    return storages[key].detach()
