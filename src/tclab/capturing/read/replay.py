"""List the cache entries that a call tries, in order, and the guard that fails in each."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch

from tclab.capturing.torch_private import compiler
from tclab.model import Attempt, CachedCall
from tclab.text.scrub import scrub


def list_attempts(code: CodeType, values: dict[str, object]) -> tuple[Attempt, ...]:
    """List the cache entries that a call with these local variables tries, up to the first one
    whose guards hold.
    """
    attempts: list[Attempt] = []
    for entry in compiler.cache_entries(code):
        failed = strip_location(compiler.first_failed_guard(entry, values))
        attempts.append(Attempt(entry_id(entry), failed))
        if not failed:
            break
    return tuple(attempts)


def strip_location(verbose: str) -> str:
    """Remove the comment with the source line from a guard's text.

    ``2 <= L['x'].size()[0]  # return x.sin()  # f.py:52 in h (…)`` → ``2 <= L['x'].size()[0]``
    """
    return scrub(verbose.partition("\n")[0].partition("  #")[0].strip())


def entry_id(entry: Any) -> str:
    """Return the entry's compile id as if the function were frame 0: ``0/1`` for the second
    entry.
    """
    return f"0/{str(entry.compile_id).rpartition('/')[2]}"


def observe_call(
    code: CodeType, values: dict[str, object], run: Callable[[], object]
) -> CachedCall:
    """Call `run`; return the cache entries that the call tries, and the new one if it compiles."""
    attempts = list_attempts(code, values)
    before = {entry_id(entry) for entry in compiler.cache_entries(code)}
    run()
    after = [entry_id(entry) for entry in compiler.cache_entries(code)]
    new_entry = next((entry for entry in after if entry not in before), "")
    return CachedCall(summarize_arguments(values), attempts, new_entry)


def bind_arguments(fn: Callable[..., Any], args: tuple[object, ...]) -> dict[str, object]:
    """Return the values of the local variables at the beginning of a call of `fn`, by name."""
    bound = inspect.signature(fn).bind(*args)
    bound.apply_defaults()
    return dict(bound.arguments)


def summarize_arguments(values: dict[str, object]) -> str:
    """Describe arguments in short, without modules, for the heading of a row: ``x[8, 4],
    power=2``.
    """
    shown = {n: v for n, v in values.items() if not isinstance(v, torch.nn.Module)}
    return ", ".join(_summarize_value(name, value) for name, value in shown.items())


def _summarize_value(name: str, value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"{name}{list(value.shape)}"
    return f"{name}={value!r:.40}"
