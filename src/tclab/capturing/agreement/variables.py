"""Find the outside variables that a function can reach: globals, closure variables, defaults of
parameters, and the attributes of the user's functions and classes.
"""

from __future__ import annotations

import copy
import dis
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import torch

from tclab.capturing import outputs
from tclab.capturing.agreement import values
from tclab.text import user_lines


class Missing:
    """The value of a variable that does not exist. A call may create it."""


@dataclass(frozen=True)
class Variable:
    """A global or closure variable, the default of a parameter, or all attributes of a function or
    a class. `holder` is the dictionary of globals or of keyword defaults, the cell of the closure,
    or the function whose tuple of `__defaults__` has the value at `place`; for attributes, it is
    the function or the class.
    """

    name: str
    holder: dict[str, Any] | CellType | FunctionType | type
    place: int | None = None

    def get(self) -> Any:
        if isinstance(self.holder, CellType):
            return _cell_contents(self.holder)
        if isinstance(self.holder, dict):
            return self.holder.get(self.name, Missing)
        if isinstance(self.holder, FunctionType) and self.place is not None:
            return (self.holder.__defaults__ or ())[self.place]
        return SimpleNamespace(**_attributes(self.holder))

    def set(self, value: Any) -> None:
        if isinstance(self.holder, CellType):
            _fill_cell(self.holder, value)
        elif isinstance(self.holder, dict):
            self.holder.pop(self.name, None) if value is Missing else self.holder.update(
                {self.name: value}
            )
        elif isinstance(self.holder, FunctionType) and self.place is not None:
            defaults = list(self.holder.__defaults__ or ())
            defaults[self.place] = value
            self.holder.__defaults__ = tuple(defaults)
        else:
            _set_attributes(self.holder, vars(value))


def _cell_contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the cell is still empty
        return Missing


def _fill_cell(cell: CellType, value: Any) -> None:
    if value is not Missing:
        cell.cell_contents = value
    elif _cell_contents(cell) is not Missing:
        del cell.cell_contents


def _attributes(owner: FunctionType | type) -> dict[str, Any]:
    """Return the attributes of a function or a class that hold data. Names with ``__`` are Python's
    and ``_torch`` PyTorch's.
    """
    return {
        name: value
        for name, value in vars(owner).items()
        if not name.startswith(("__", "_torch", "_abc_")) and _is_data(value)
    }


def _set_attributes(owner: FunctionType | type, attributes: dict[str, Any]) -> None:
    now = _attributes(owner)
    for name in now.keys() - attributes.keys():
        delattr(owner, name)
    for name, value in attributes.items():
        if name not in now or now[name] is not value:
            setattr(owner, name, value)


def _is_data(value: Any) -> bool:
    """Return whether an attribute's value can be compared and copied."""
    kinds = (torch.Tensor, torch.nn.Module, *outputs.SIMPLE)
    if isinstance(value, kinds):
        return True
    if type(value) in (list, tuple, set, dict):  # a copy of the whole may be large
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        return all(isinstance(each, kinds) or _is_copied(each) for each in parts)
    if is_code(value) or not (
        outputs.list_items(value) is not None
        or outputs.has_state(value)
        or values.is_users_object(value)
    ):
        return False
    return _is_copied(value)


def _is_copied(value: Any) -> bool:
    """Return whether a copy of the value can be made."""
    try:
        copy.deepcopy(value)
    except Exception:
        return False
    return True


# --------------------------------------------------------------------------- the search


def find_variables(fn: Callable[..., Any], functions: Iterable[FunctionType]) -> Iterator[Variable]:
    """Yield each variable of `functions`, which are those that `fn` reaches, once, and the
    attributes of these functions and of the classes that they reach.
    """
    found = set[tuple[str, int]]()
    for function in functions:
        written = _written_names(function.__code__)
        for variable, value in _list_variables(function, written):
            key = variable.name, id(variable.holder)
            rebound = variable.name in written and not isinstance(value, ModuleType)
            if key not in found and (rebound or not is_code(value)):
                found.add(key)
                yield variable
    owners: list[FunctionType | type] = [*functions, *_reachable_classes(fn, functions)]
    for owner in owners:
        yield Variable(owner.__name__, owner)


def reachable_functions(fn: Callable[..., Any]) -> Iterator[FunctionType]:
    """Yield the user's functions that are reached by name."""
    waiting, seen = [*_called_functions(fn)], set[int]()
    while waiting:
        function = waiting.pop()
        if id(function) in seen or not user_lines.is_user_file(function.__code__.co_filename):
            continue
        seen.add(id(function))
        yield function
        for _, value in _list_variables(function):
            waiting += _called_functions(value)


def _reached_values(fn: Callable[..., Any], functions: Iterable[FunctionType]) -> list[Any]:
    """Return `fn`, and the values of the variables of these functions."""
    return [fn, *(value for each in functions for _, value in _list_variables(each))]


def _reachable_classes(fn: Callable[..., Any], functions: Iterable[FunctionType]) -> list[type]:
    """Return the user's classes whose attributes a call can write: those reached by name, and
    those of the objects reached.
    """
    reached = _reached_values(fn, functions)
    classes = [base for value in reached for cls in _classes(value) for base in cls.__mro__]
    return [
        cls
        for cls in dict.fromkeys(classes)
        if user_lines.is_users_class(cls)
        and type(cls).__setattr__ is type.__setattr__  # an Enum refuses new values
    ]


def _classes(value: Any) -> list[type]:
    """Return the classes of a value, of its modules, or of the object whose method it is."""
    if isinstance(value, functools.partial):
        return _classes(value.func)
    owner = getattr(value, "__self__", value) if isinstance(value, MethodType) else value
    if isinstance(owner, torch.nn.Module):
        return list(dict.fromkeys(type(each) for each in owner.modules()))
    return [owner if isinstance(owner, type) else type(owner)]


def find_caches(fn: Callable[..., Any], functions: Iterable[FunctionType]) -> list[Any]:
    """Return the functions with a functools cache that a call can reach: functions called by name,
    and methods of classes called by name. `functions` are those that `fn` reaches.
    """
    reached = _reached_values(fn, functions)
    found = {id(value): value for value in reached}
    for value in reached:
        for cls in _classes(value):
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


def _list_variables(
    function: FunctionType, written: frozenset[str] = frozenset()
) -> Iterator[tuple[Variable, Any]]:
    """Yield the variables outside of a function that its code names, and the defaults of its
    parameters, with their values. Globals in `written` are yielded even if they do not exist.
    """
    space, names = function.__globals__, _names(function.__code__)
    for name in names:
        if name in space or name in written:
            yield Variable(name, space), space.get(name, Missing)
        if isinstance(module := space.get(name), ModuleType) and _is_users_module(module):
            yield from ((Variable(each, vars(module)), vars(module)[each])
                        for each in names & vars(module).keys())  # fmt: skip
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        yield Variable(name, cell), _cell_contents(cell)
    defaults = function.__defaults__ or ()
    first = function.__code__.co_argcount - len(defaults)
    for place, value in enumerate(defaults):
        yield Variable(function.__code__.co_varnames[first + place], function, place), value
    named = function.__kwdefaults__ or {}
    yield from ((Variable(name, named), value) for name, value in named.items())


def _is_users_module(module: ModuleType) -> bool:
    file: str = getattr(module, "__file__", None) or ""
    return bool(file) and user_lines.is_user_file(file) and not user_lines.is_installed(file)


def _names(code: CodeType) -> set[str]:
    return {name for each in _codes(code) for name in each.co_names}


def _written_names(code: CodeType) -> frozenset[str]:
    """Return the names of the globals and closure variables that code assigns."""
    return frozenset(
        step.argval
        for each in _codes(code)
        for step in dis.get_instructions(each)
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF")
    )


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of the functions in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


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


def is_code(value: Any) -> bool:
    """Return whether the value is code, such as a function or a class, which calls do not
    change.
    """
    return isinstance(value, (ModuleType, type)) or (
        callable(value)
        and not isinstance(value, torch.nn.Module)
        and not values.is_users_object(value)
    )
