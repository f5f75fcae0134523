"""Which cache entries calls try, in which order, and the guard that fails in each."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch

from tclab.capturing.torch_private import compiler
from tclab.model import Attempt, CachedCall
from tclab.scrub import scrub


def attempts(code: CodeType, values: dict[str, object]) -> tuple[Attempt, ...]:
    """What a call with these local values would try, up to the entry that holds."""
    tries: list[Attempt] = []
    for entry in compiler.entries(code):
        failed = first_line(compiler.failed_guard(entry, values))
        tries.append(Attempt(entry_id(entry), failed))
        if not failed:
            break
    return tuple(tries)


def first_line(verbose: str) -> str:
    """A guard without the place it was made at.

    ``2 <= L['x'].size()[0]  # return x.sin()  # f.py:52 in h (…)`` → ``2 <= L['x'].size()[0]``
    """
    return scrub(verbose.partition("\n")[0].partition("  #")[0].strip())


def entry_id(entry: Any) -> str:
    """``0/1``: of the function's entries the one of its second compile."""
    return f"0/{str(entry.compile_id).rpartition('/')[2]}"


def observed(code: CodeType, values: dict[str, object], run: Callable[[], object]) -> CachedCall:
    """Try, then call: what was tried, and the entry that the call made."""
    tries = attempts(code, values)
    before = {entry_id(entry) for entry in compiler.entries(code)}
    run()
    after = [entry_id(entry) for entry in compiler.entries(code)]
    new_entry = next((entry for entry in after if entry not in before), "")
    return CachedCall(in_short(values), tries, new_entry)


def arguments(fn: Callable[..., Any], args: tuple[object, ...]) -> dict[str, object]:
    """The local values that a call of `fn` begins with."""
    bound = inspect.signature(fn).bind(*args)
    bound.apply_defaults()
    return dict(bound.arguments)


def in_short(values: dict[str, object]) -> str:
    """Arguments as a row's heading, without a module's own: ``x[8, 4], power=2``."""
    plain = {n: v for n, v in values.items() if not isinstance(v, torch.nn.Module)}
    return ", ".join(_one(name, value) for name, value in plain.items())


def _one(name: str, value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"{name}{list(value.shape)}"
    return f"{name}={value!r:.40}"
