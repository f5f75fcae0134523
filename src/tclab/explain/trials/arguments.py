"""Change the arguments of the reader's calls, as a remedy says."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any

from tclab.explain import subject
from tclab.explain.inputs import Call
from tclab.explain.trials.remedy import Remedy


def change_arguments(fn: Any, calls: list[Call], remedy: Remedy) -> list[Call]:
    """Return the calls with their arguments changed as the remedy says."""
    what, *names = remedy.arguments.split() or [""]
    if what == "same":
        last = dict(_bind_arguments(fn, calls[-1]))[names[0]]
        return [_replace_argument(fn, call, names[0], copy.deepcopy(last)) for call in calls]
    if what == "mark":
        return [_mark_dynamic(fn, call, names[0], int(names[1])) for call in calls]
    change: Callable[[Any], Any]
    if what == "two":
        change = functools.partial(_enlarge, dims=[int(name) for name in names])
    elif what == "detach":
        change = _detach
    elif what == "grad":
        change = _require_grad
    elif what == "numbers":
        change = _to_number
    else:
        return calls
    return [
        Call(tuple(map(change, call.args)), {k: change(v) for k, v in call.kwargs.items()})
        for call in calls
    ]


def _detach(value: Any) -> Any:
    import torch

    return value.detach() if isinstance(value, torch.nn.Parameter) else value


def _to_number(value: Any) -> Any:
    """Return a tensor without dimensions that gets no gradient as a Python number."""
    import torch

    scalar = isinstance(value, torch.Tensor) and not value.dim() and not value.requires_grad
    return value.item() if scalar else value


def name_numbers(fn: Any, call: Call) -> tuple[str, ...]:
    """Return the names of the arguments that ``numbers`` changes."""
    arguments = _bind_arguments(fn, call).items()
    return tuple(name for name, value in arguments if _to_number(value) is not value)


def _require_grad(value: Any) -> Any:
    import torch

    floats = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.detach().requires_grad_() if floats else value


def _enlarge(value: Any, dims: Collection[int]) -> Any:
    """Return a tensor with size 2 in place of size 0 or 1 in the dimensions `dims`; in all
    dimensions if `dims` is empty.
    """
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    shape = [
        max(size, 2) if dim in dims or not dims else size for dim, size in enumerate(value.shape)
    ]
    return value if shape == list(value.shape) else value.new_zeros(shape)


def _bind_arguments(fn: Any, call: Call) -> dict[str, Any]:
    function = fn.forward if subject.is_module(fn) else fn
    return inspect.signature(function).bind(*call.args, **call.kwargs).arguments


def _replace_argument(fn: Any, call: Call, name: str, value: object) -> Call:
    """Return the call with another value for the argument `name`."""
    arguments = _bind_arguments(fn, call)
    at = list(arguments).index(name)
    if name in call.kwargs:
        return Call(call.args, {**call.kwargs, name: value})
    return Call((*call.args[:at], value, *call.args[at + 1 :]), call.kwargs)


def _mark_dynamic(fn: Any, call: Call, name: str, dim: int) -> Call:
    from tclab.capturing.torch_private import compiler

    compiler.mark_dynamic(_bind_arguments(fn, call)[name], dim)
    return call
