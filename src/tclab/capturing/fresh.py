"""Compile as if nothing had been compiled before, and put everything back after.

Dynamo keeps what it compiled on code objects. While `fresh` holds, every function whose code
Dynamo has met runs on a copy of its code, so earlier compiles neither hide a stage nor count
towards the recompile limit; afterwards each function has its own code back, with all its
cache entries, and code first met in between is forgotten again.
"""

from __future__ import annotations

import functools
import gc
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch

from tclab.capturing.torch_private import compiler

#: One capture at a time swaps code; a capture inside a capture is fine.
_LOCK = threading.RLock()
#: Copies that may still be alive, by id(): code objects compare by value.
_COPIES: dict[int, weakref.ref[CodeType]] = {}


@contextmanager
def fresh(fn: Callable[..., Any]) -> Iterator[None]:
    """Hide what Dynamo knows of `fn` and of everything else, for the length of the block."""
    with _LOCK:
        before = compiler.known_codes()
        functions = _functions_on([c for c in before if _matters(c)], function_of(fn))
        codes = [f.__code__ for f in functions]
        try:
            for function, code in zip(functions, codes):
                function.__code__ = _remember(copy_code(code))
            with compiler.no_profile():
                yield
        finally:
            for function, code in zip(functions, codes):
                function.__code__ = code
            _forget_since(before)


def _remember(copy: CodeType) -> CodeType:
    for number in [n for n, ref in _COPIES.items() if ref() is None]:
        del _COPIES[number]
    _COPIES[id(copy)] = weakref.ref(copy)
    return copy


def _matters(code: CodeType) -> bool:
    """Code with cache entries, or that Dynamo may have given up on: that of others, and the frame
    that Dynamo puts around each of PyTorch's modules. Not our own copies, which no function runs
    any more; nor other code of PyTorch's, which is skipped whatever its past.
    """
    if (copy := _COPIES.get(id(code))) is not None and copy() is code:
        return False
    torch_folder = os.path.dirname(torch.__file__) + os.sep
    return (
        compiler.is_cached(code)
        or not code.co_filename.startswith(torch_folder)
        or code.co_filename == compiler.frames_around_modules()
    )


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
        fn = getattr(type(fn), "__call__", fn)  # noqa: B004
    fn = getattr(fn, "__func__", fn)
    return fn if isinstance(fn, FunctionType) else None


def _functions_on(codes: list[CodeType], top: FunctionType | None) -> list[FunctionType]:
    """`top`, the functions that run one of these code objects, and those that define one."""
    functions = {id(top): top} if top is not None else {}
    ids, files = {id(code) for code in codes}, {code.co_filename for code in codes}
    for thing in gc.get_objects() if codes else ():
        if type(thing) is not FunctionType or thing.__code__.co_filename not in files:
            continue
        if _has(thing.__code__, ids):
            functions[id(thing)] = thing
    return list(functions.values())


def _has(code: CodeType, codes: set[int]) -> bool:
    """Whether this code, or that of a function it defines, is one of `codes`."""
    return id(code) in codes or any(
        type(constant) is CodeType and _has(constant, codes) for constant in code.co_consts
    )


def _forget_since(before: list[CodeType]) -> None:
    old = {id(code) for code in before}
    for code in compiler.known_codes():
        if id(code) not in old:
            compiler.forget(code)
