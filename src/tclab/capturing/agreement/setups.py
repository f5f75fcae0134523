"""Define a *setup*: a function, the arguments of its calls, and the outside variables that it
reaches.

A copy of a setup lets the same calls start from the same state again. While calls use a copy of a
setup, the outside variables have the copied values; afterwards they have their own values again.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

import torch

from tclab.capturing import outputs
from tclab.capturing.agreement import values, variables
from tclab.capturing.agreement.values import Convert
from tclab.capturing.agreement.variables import Variable

#: The positional and the keyword arguments of one call.
Call = tuple[tuple[object, ...], Mapping[str, object]]


@dataclass
class Setup:
    """A function and the state from which its calls start. `contents` are the values of
    `variables`, in the same order. `caches` are the functools caches that were empty at the start.
    Cache entries cannot be copied, so these caches are emptied before the calls of a copy.
    """

    fn: Callable[..., Any]
    calls: Sequence[Call]
    variables: tuple[Variable, ...]
    contents: list[Any]
    caches: tuple[Any, ...] = ()

    @classmethod
    def from_function(cls, fn: Callable[..., Any], calls: Sequence[Call]) -> Setup:
        """Return the setup of a function. Its variables are those named in its code, and those
        named in the code of the user's functions that it reaches.
        """
        reached = list(variables.reachable_functions(fn))
        found = tuple(variables.find_variables(fn, reached))
        caches = variables.find_caches(fn, reached)
        empty = tuple(each for each in caches if not each.cache_info().currsize)
        return cls(fn, calls, found, [each.get() for each in found], empty)

    def copy(self, convert: Convert | None = None) -> Setup:
        """Return a copy; `convert` changes the floating-point type. Raises the error of a value
        that cannot be copied.
        """
        fn, calls, contents = values.deep_copy((self.fn, self.calls, self.contents), convert)
        return Setup(fn, calls, self.variables, contents, self.caches)

    def convert_in_place(self, convert: Convert) -> None:
        """Change the floating-point type of the state's tensors, which stay the same objects."""
        for _, leaf in self.state():
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                leaf.data = convert(leaf.data)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """During the block, give the variables this setup's contents as values. At its end, store
        their new values in the setup, and give the variables their earlier values again.
        """
        before = [each.get() for each in self.variables]
        try:
            self._fill(self.contents)
            for cache in self.caches:
                cache.cache_clear()
            yield
        finally:
            self.contents = [each.get() for each in self.variables]
            self._fill(before)
            for cache in self.caches:  # its entries may be of float64
                cache.cache_clear()

    def _fill(self, contents: list[Any]) -> None:
        for variable, value in zip(self.variables, contents):
            variable.set(value)

    def eps(self) -> float:
        """Return the relative precision of the coarsest floating-point type of the state."""
        types = {leaf.dtype for _, leaf in self.state() if isinstance(leaf, torch.Tensor)}
        floats = [torch.float64, *(each for each in types if each.is_floating_point)]
        return float(max(torch.finfo(each).eps for each in floats))

    def object_names(self) -> list[str]:
        """Return the names of the arguments and variables that are objects with attributes, and the
        class of the object that is called.
        """
        owner, found = _find_owner(self.fn), dict[str, object]()
        if not isinstance(owner, (tuple, list)):
            found[f"the called {type(owner).__name__}"] = owner
        for args, kwargs in self.calls:
            found |= {**dict(zip(_parameter_names(self.fn, len(args)), args)), **kwargs}
        found |= {each.name: value for each, value in zip(self.variables, self.contents)
                  if not isinstance(each.holder, (FunctionType, type))}  # fmt: skip
        plain = (torch.Tensor, *outputs.SIMPLE)
        named = (name for name, value in found.items()
                 if not isinstance(value, plain) and not variables.is_code(value))  # fmt: skip
        return [*named] or ["what it reaches"]

    def state(self) -> Iterator[tuple[str, Any]]:
        """Yield (name, leaf) for each value that a call can change: arguments, the called module or
        object, variables.
        """
        several = len(self.calls) > 1
        for number, (args, kwargs) in enumerate(self.calls, 1):
            of_call = f" of call {number}" if several else ""
            named = zip(_parameter_names(self.fn, len(args)), args)
            for name, value in [*named, *kwargs.items()]:
                yield from ((f"the argument {path}{of_call}", leaf)
                            for path, leaf in values.walk(value, name))  # fmt: skip
        yield from ((path.replace("self.", "", 1), leaf)
                    for path, leaf in values.walk(_find_owner(self.fn), "self"))  # fmt: skip
        names = Counter[str]()  # functions of several files may have a variable of one name
        for variable, value in zip(self.variables, self.contents):
            names[variable.name] += 1
            which = f" ({names[variable.name]})" if names[variable.name] > 1 else ""
            name = f"the variable {variable.name}{which}"
            if variables.is_code(value) and value is not variables.Missing:
                yield name, getattr(value, "__qualname__", type(value).__name__)
            yield from values.walk(value, name)


def _find_owner(fn: Callable[..., Any]) -> Any:
    """Return the module or the object whose method is called; () for a function."""
    if isinstance(fn, functools.partial):
        return [_find_owner(fn.func), fn.args, fn.keywords]
    if isinstance(fn, MethodType):
        return fn.__self__
    return () if isinstance(fn, FunctionType) else fn


def _parameter_names(fn: Callable[..., Any], count: int) -> list[str]:
    """Return names for `count` positional arguments."""
    try:
        function = fn.forward if isinstance(fn, torch.nn.Module) else fn
        names = [p.name for p in inspect.signature(function).parameters.values()
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]  # fmt: skip
    except (TypeError, ValueError):
        names = []
    return [*names[:count], *map(str, range(len(names), count))]
