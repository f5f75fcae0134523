"""Measure a function in this process: does compiling pay?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tclab.explain import inputs, options, run, steps, subject
from tclab.explain.measure.modes import MeasuredMode, list_modes, measure_modes
from tclab.explain.measure.passes import Passes, answer, prepare
from tclab.model import EAGER, GRAPHS, Measurement


class _Here:
    """Answers requests in this process."""

    def __init__(self, passes: Passes) -> None:
        self._passes = passes

    def ask(self, question: object, seconds: float) -> object:
        """Return the answer, however long it takes."""
        return answer(self._passes, question)


def measure(
    fn: Callable[..., object], *, backward: bool = False, seconds: float = 180.0, **given: Any
) -> Callable[..., Measurement]:
    """Return a function that makes one call of `fn` again and again, in eager and compiled, and
    returns the measurement. The further options go to torch.compile. If `fn` is compiled already,
    eager is what it was compiled from.

    Other than ``tclab explain --measure``, it runs in this process, with this process's caches of
    kernels, and on a CPU it does not time each kernel. After `seconds` no further round begins.
    """
    run.require_torch()
    options.check(given)
    name = getattr(fn, "__qualname__", type(fn).__name__)
    inner = subject.strip_compile(fn, name)

    def measured(*args: object, **kwargs: object) -> Measurement:
        import torch

        end = time.monotonic() + seconds
        modes: list[MeasuredMode] = []
        for mode, of in list_modes(given):
            compiled = mode != EAGER
            if mode == GRAPHS and (inner is not fn or not modes[0].prepared.gpu):
                continue
            callable_ = fn if compiled and inner is not fn else inner
            if compiled and inner is fn:
                callable_ = torch.compile(inner, **of)
            passes = Passes.make(callable_, [inputs.Call(args, kwargs)], inner, backward)
            modes.append(MeasuredMode(mode, _Here(passes), prepare(passes), end))
        on_gpu = bool(modes[0].prepared.gpu)
        return measure_modes(modes, steps.silent, lambda mode: mode.profile() if on_gpu else None)

    return measured
