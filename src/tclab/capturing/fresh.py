"""Hide earlier compiles from Dynamo during a capture, and restore them afterwards.

Dynamo keeps its cache entries on code objects. Inside `hide_earlier_compiles`, each function whose
code Dynamo has met runs a copy of its code. So earlier compiles neither hide a stage nor count
towards the recompile limit. Afterwards each function has its own code again, with all its cache
entries, and Dynamo forgets the code objects that it first met during the capture.
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

#: The lock lets only one thread at a time swap code objects. It is reentrant, for a capture within
#: a capture.
_LOCK = threading.RLock()
#: id() → a copy of a code object that may still be alive. The key is the id() because code objects
#: compare by value.
_COPIES: dict[int, weakref.ref[CodeType]] = {}


@contextmanager
def hide_earlier_compiles(fn: Callable[..., Any]) -> Iterator[None]:
    """Hide all earlier compiles, of `fn` and of all other functions, during the block."""
    with _LOCK:
        known = compiler.known_codes()
        functions = _functions_to_swap(
            [c for c in known if _affects_later_compiles(c)], python_function(fn)
        )
        codes = [f.__code__ for f in functions]
        try:
            for function, code in zip(functions, codes):
                function.__code__ = _remember_copy(copy_code_object(code))
            with compiler.hide_seen_sizes():
                yield
        finally:
            for function, code in zip(functions, codes):
                function.__code__ = code
            _forget_new_codes(known)


def _remember_copy(copy: CodeType) -> CodeType:
    for number in [n for n, ref in _COPIES.items() if ref() is None]:
        del _COPIES[number]
    _COPIES[id(copy)] = weakref.ref(copy)
    return copy


def _affects_later_compiles(code: CodeType) -> bool:
    """Return whether earlier compiles of this code can change a later one, because it has cache
    entries or Dynamo may have decided to skip it. Dynamo decides this for code outside of PyTorch,
    and for the frame that it wraps around PyTorch's modules; it always skips PyTorch's other code.
    Copies that a capture made do not count, because no function runs them any more.
    """
    if (copy := _COPIES.get(id(code))) is not None and copy() is code:
        return False
    torch_folder = os.path.dirname(torch.__file__) + os.sep
    return (
        compiler.has_cache_entries(code)
        or not code.co_filename.startswith(torch_folder)
        or code.co_filename == compiler.module_wrapper_file()
    )


def copy_code_object(code: CodeType) -> CodeType:
    """Return a copy of a code object, and of the code objects that it defines. Dynamo does not know
    the copies.
    """
    constants = tuple(copy_code_object(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=constants)


def python_function(fn: Any) -> FunctionType | None:
    """Return the Python function that runs when `fn` is called, or None if `fn` is a builtin."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if isinstance(fn, torch.nn.Module):
        fn = fn.forward
    if not isinstance(fn, (FunctionType, MethodType)) and not isinstance(fn, type):
        fn = getattr(type(fn), "__call__", fn)  # noqa: B004
    fn = getattr(fn, "__func__", fn)
    return fn if isinstance(fn, FunctionType) else None


def _functions_to_swap(codes: list[CodeType], top: FunctionType | None) -> list[FunctionType]:
    """Return `top`, all functions whose code is one of these code objects, and all functions that
    define such a function.
    """
    functions = {id(top): top} if top is not None else {}
    ids, files = {id(code) for code in codes}, {code.co_filename for code in codes}
    for candidate in gc.get_objects() if codes else ():
        if type(candidate) is not FunctionType or candidate.__code__.co_filename not in files:
            continue
        if _contains_code(candidate.__code__, ids):
            functions[id(candidate)] = candidate
    return list(functions.values())


def _contains_code(code: CodeType, codes: set[int]) -> bool:
    """Return whether the id() of this code object, or of a code object that it defines, is in
    `codes`.
    """
    return id(code) in codes or any(
        type(constant) is CodeType and _contains_code(constant, codes)
        for constant in code.co_consts
    )


def _forget_new_codes(known_codes: list[CodeType]) -> None:
    known_ids = {id(code) for code in known_codes}
    for code in compiler.known_codes():
        if id(code) not in known_ids:
            compiler.forget_code(code)
