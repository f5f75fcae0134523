"""Compile as if nothing had been compiled before, and put everything back after.

Dynamo keeps what it compiled on code objects. While `fresh` holds, every function whose code
Dynamo has met runs on a copy of its code, so earlier compiles neither hide a stage nor count
towards the recompile limit; afterwards each function has its own code back, with all its
cache entries, and code first met in between is forgotten again.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch

from tclab.stages import _torch


@contextmanager
def fresh(fn: Callable[..., Any]) -> Iterator[None]:
    """Hide what Dynamo knows of `fn` and of everything else, for the length of the block."""
    before = _torch.known_codes()
    functions = _functions_on({id(c) for c in before}, function_of(fn))
    codes = [f.__code__ for f in functions]
    for function, code in zip(functions, codes):
        function.__code__ = copy_code(code)
    try:
        with _torch.no_profile():
            yield
    finally:
        for function, code in zip(functions, codes):
            function.__code__ = code
        _forget_since(before)


def copy_code(code: CodeType) -> CodeType:
    """An equal code object without a past; so are those of the functions it defines."""
    constants = tuple(copy_code(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=constants)


def function_of(fn: Any) -> FunctionType | None:
    """The Python function that runs when `fn` is called, or None (a builtin)."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if isinstance(fn, torch.nn.Module):
        fn = fn.forward
    if not isinstance(fn, (FunctionType, MethodType)) and not isinstance(fn, type):
        fn = getattr(type(fn), "__call__", fn)
    fn = getattr(fn, "__func__", fn)
    return fn if isinstance(fn, FunctionType) else None


def _functions_on(codes: set[int], top: FunctionType | None) -> list[FunctionType]:
    """The functions that run one of these code objects, and `top`."""
    found = {id(top): top} if top is not None else {}
    if codes:
        for thing in gc.get_objects():
            if type(thing) is FunctionType and id(thing.__code__) in codes:
                found[id(thing)] = thing
    return list(found.values())


def _forget_since(before: list[CodeType]) -> None:
    old = {id(code) for code in before}
    for code in _torch.known_codes():
        if id(code) not in old:
            _torch.forget(code)
