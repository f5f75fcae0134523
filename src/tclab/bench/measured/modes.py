"""Ways to run a subject: what each mode makes of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tclab.bench.case import AUTOTUNE, DEFAULT, DESCENT, DYNAMIC, EAGER, GRAPHS
from tclab.catalog.subject import Compile, Subject, eager

#: What `torch.compile` is given: but for one mode, each size is compiled for itself.
OPTIONS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    GRAPHS: {"mode": GRAPHS},
    AUTOTUNE: {"mode": AUTOTUNE},
    DYNAMIC: {"dynamic": True},
    DESCENT: {"options": {"coordinate_descent_tuning": True}},
}


def compiler(mode: str) -> Compile:
    """How a mode compiles a function."""
    if mode == EAGER:
        return eager
    return functools.partial(torch.compile, **{"dynamic": False, **OPTIONS[mode]})


def callable_of(subject: Subject, mode: str, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """What is called and timed in a mode. LookupError where the subject has no such one."""
    if mode == "torchscript":
        return subject.make(lambda fn: torch.jit.trace(fn, arguments))
    if mode == EAGER or mode in OPTIONS:
        return subject.make(compiler(mode))
    return subject.others[mode]
