"""Compile the callable of a benchmark's subject in each mode."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tclab.model import DEFAULT, EAGER, GRAPHS
from tclab.workshop.bench.case import AUTOTUNE, DESCENT, DYNAMIC
from tclab.workshop.catalog.subject import Compile, Subject, eager

#: Mode → the options of `torch.compile`. All modes but `DYNAMIC` compile each size separately.
OPTIONS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    GRAPHS: {"mode": GRAPHS},
    AUTOTUNE: {"mode": AUTOTUNE},
    DYNAMIC: {"dynamic": True},
    DESCENT: {"options": {"coordinate_descent_tuning": True}},
}


def make_compiler(mode: str) -> Compile:
    """Return the function that compiles functions in this mode."""
    if mode == EAGER:
        return eager
    return functools.partial(torch.compile, **{"dynamic": False, **OPTIONS[mode]})


def make_callable(subject: Subject, mode: str, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the callable to time in a mode. Raises LookupError if the subject does not have the
    mode.
    """
    if mode == "torchscript":
        return subject.make(lambda fn: torch.jit.trace(fn, arguments))
    if mode == EAGER or mode in OPTIONS:
        return subject.make(make_compiler(mode))
    return subject.others[mode]
