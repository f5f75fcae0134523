"""Define a *setup*: a function, the arguments of its calls, and the outside variables that it
reaches.

A copy of a setup lets the same calls start from the same state again. The outside variables are
globals, closure variables and defaults of parameters of the user's functions. While calls use a
copy of a setup, these variables have the copied values; afterwards they have their own values
again.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from tclab.capturing.agreement import values
from tclab.capturing.agreement.values import Convert
from tclab.text import user_lines

#: The positional and the keyword arguments of one call.
Call = tuple[tuple[object, ...], Mapping[str, object]]


@dataclass(frozen=True)
class Variable:
    """A global or closure variable, or the default of a parameter. `holder` is the dictionary of
    globals or of keyword defaults, the cell of the closure, or the function whose tuple of
    `__defaults__` has the value at `place`.
    """

    name: str
    holder: dict[str, Any] | CellType | FunctionType
    place: int = 0

    def get(self) -> Any:
        if isinstance(self.holder, CellType):
            return self.holder.cell_contents
        if isinstance(self.holder, FunctionType):
            return (self.holder.__defaults__ or ())[self.place]
        return self.holder[self.name]

    def set(self, value: Any) -> None:
        if isinstance(self.holder, CellType):
            self.holder.cell_contents = value
        elif isinstance(self.holder, FunctionType):
            defaults = list(self.holder.__defaults__ or ())
            defaults[self.place] = value
            self.holder.__defaults__ = tuple(defaults)
        else:
            self.holder[self.name] = value


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
        variables = tuple(_variables(fn))
        empty = tuple(each for each in _find_caches(fn) if not each.cache_info().currsize)
        return cls(fn, calls, variables, [each.get() for each in variables], empty)

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
            yield from values.walk(value, f"the variable {variable.name}{which}")


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


# --------------------------------------------------------------------------- variables


def _variables(fn: Callable[..., Any]) -> Iterator[Variable]:
    """Yield each variable once, from all of the user's functions that are reached by name."""
    found = set[tuple[str, int]]()
    for function in _reachable_functions(fn):
        for variable, value in _find_variables(function):
            key = variable.name, id(variable.holder)
            if key not in found and not _is_code(value):
                found.add(key)
                yield variable


def _reachable_functions(fn: Callable[..., Any]) -> Iterator[FunctionType]:
    """Yield the user's functions that are reached by name."""
    waiting, seen = [*_called_functions(fn)], set[int]()
    while waiting:
        function = waiting.pop()
        if id(function) in seen or not user_lines.is_user_file(function.__code__.co_filename):
            continue
        seen.add(id(function))
        yield function
        for _, value in _find_variables(function):
            waiting += _called_functions(value)


def _find_caches(fn: Callable[..., Any]) -> list[Any]:
    """Return the functions with a functools cache that a call can reach: functions called by name,
    and methods of classes called by name.
    """
    reached = [
        fn,
        *(value for each in _reachable_functions(fn) for _, value in _find_variables(each)),
    ]
    found = {id(value): value for value in reached}
    for value in reached:
        owner = getattr(value, "__self__", value)
        modules = owner.modules() if isinstance(owner, torch.nn.Module) else [owner]
        for cls in {each if isinstance(each, type) else type(each) for each in modules}:
            for each in vars(cls).values() if user_lines.is_users_class(cls) else ():
                function = getattr(each, "__func__", each)
                found[id(function)] = function
    caches = (_cache_in(each) for each in found.values())
    return [each for each in caches if each is not None]


def _cache_in(value: Any) -> Any:
    """Return the functools cache of a function, wrapped or not; None if it has none."""
    while not isinstance(value, functools._lru_cache_wrapper):
        inside = getattr(value, "__dict__", None)
        value = inside.get("__wrapped__") if isinstance(inside, dict) else None
        if value is None:
            return None
    return value


def _find_variables(function: FunctionType) -> Iterator[tuple[Variable, Any]]:
    """Yield the variables outside of a function that its code names, and the defaults of its
    parameters, with their values.
    """
    space = function.__globals__
    for name in _names(function.__code__):
        if name in space:
            yield Variable(name, space), space[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            yield Variable(name, cell), cell.cell_contents
        except ValueError:  # the cell is still empty
            continue
    defaults = function.__defaults__ or ()
    first = function.__code__.co_argcount - len(defaults)
    for place, value in enumerate(defaults):
        yield Variable(function.__code__.co_varnames[first + place], function, place), value
    named = function.__kwdefaults__ or {}
    yield from ((Variable(name, named), value) for name, value in named.items())


def _names(code: CodeType) -> set[str]:
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*inner)


def _called_functions(value: Any) -> Iterator[FunctionType]:
    """Yield the functions with Python code that a call of `value` can run, if they can be found."""
    if isinstance(value, functools.partial):
        yield from _called_functions(value.func)
    elif isinstance(value, torch.nn.Module):
        for cls in {type(each) for each in value.modules()}:
            yield from _methods(cls)
    elif isinstance(value, type):
        yield from _methods(value)
    else:
        value = getattr(value, "__func__", value)
        if isinstance(value, FunctionType):
            yield value
        if isinstance(inner := getattr(value, "__wrapped__", None), FunctionType):
            yield inner
        if not isinstance(value, (FunctionType, ModuleType)):
            yield from _methods(type(value))


def _methods(cls: type) -> Iterator[FunctionType]:
    for each in vars(cls).values() if user_lines.is_users_class(cls) else ():
        function = getattr(each, "__func__", each)
        if isinstance(function, FunctionType):
            yield function


def _is_code(value: Any) -> bool:
    """Return whether the value is code, such as a function or a class, which calls do not
    change.
    """
    return isinstance(value, (ModuleType, type)) or (
        callable(value)
        and not isinstance(value, torch.nn.Module)
        and not values.is_users_object(value)
    )
