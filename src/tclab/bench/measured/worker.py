"""One case in one mode, in a process of its own: made warm and checked, then timed on demand."""

from __future__ import annotations

import functools
import gc
import importlib
import math
import os
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from tclab.bench.case import EAGER, Case
from tclab.bench.measured import device as devices
from tclab.bench.measured import private
from tclab.bench.measured.lock import exclusive
from tclab.bench.measured.modes import callable_of
from tclab.bench.rows import Facts
from tclab.bench.task import Task
from tclab.catalog.subject import Subject, eager, error, nbytes, tensors
from tclab.scrub import scrub

MOST_SETS = 24
_STEADY = 1.25  # a call is warm once it takes at most this times the least


def work(task: Task, pipe: Connection) -> None:
    """Prepare, say how that went, and time stretches until told to end."""
    try:
        prepared = PreparedCase(task)
    except Exception as problem:
        pipe.send({"status": status_of(problem, task.case), "reason": reason_of(problem)})
        return
    pipe.send({"status": prepared.status, "reason": prepared.reason, "facts": prepared.facts})
    try:
        while True:
            prepared.obey(pipe.recv(), pipe)
    except EOFError:  # the command has ended
        return
    except Exception as problem:
        pipe.send({"status": "failed", "reason": reason_of(problem)})


def status_of(problem: Exception, case: Case) -> str:
    """Which kind of row an error makes: out of memory and missing packages are skipped."""
    if isinstance(problem, torch.cuda.OutOfMemoryError):
        return "memory"
    if isinstance(problem, ModuleNotFoundError) and problem.name in case.needs:
        return "skipped"
    return "failed"


def reason_of(problem: Exception) -> str:
    """The error in a few lines, without places on this machine's disk."""
    lines = [line for line in str(problem).splitlines() if line.strip()]
    return scrub(f"{type(problem).__name__}: " + "\n".join(lines[:4])[:600])


def build(case: Case, device: str) -> Subject:
    """The case's subject, with weights from seed 0."""
    module, _, name = case.builder.partition(":")
    torch.manual_seed(0)
    make = getattr(importlib.import_module(f"tclab.catalog.{module}"), name)
    subject: Subject = make(device, **case.size)
    return subject


class PreparedCase:
    """A case in one mode, warm and checked. `facts` are what a row keeps of it."""

    def __init__(self, task: Task) -> None:
        self.device = task.device
        self.facts = Facts()
        self._surroundings(task)
        start = time.perf_counter()
        self.subject = build(task.case, task.device)
        torch.set_grad_enabled(self.subject.grad)
        self.inputs = self._input_sets()
        self.facts["build_s"] = time.perf_counter() - start
        self.run = callable_of(self.subject, task.mode, self.inputs[0])
        self._warm_up()
        with exclusive(task.lock):
            self.status, self.reason = self._checked()
            self._count(task.mode)
        self._let_go()
        self.facts["held_bytes"] = devices.reserved(task.device)

    def _surroundings(self, task: Task) -> None:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(task.cache, "inductor")
        os.environ["TRITON_CACHE_DIR"] = os.path.join(task.cache, "triton")
        torch.set_num_threads(task.threads)
        torch.set_float32_matmul_precision("high" if task.device == "cuda" else "highest")
        private.count_bytes()
        if task.device == "cuda":
            private.tune_alone(functools.partial(exclusive, task.lock))

    def _input_sets(self) -> list[tuple[Any, ...]]:
        """As many as it takes to be twice the last cache, up to `MOST_SETS`."""
        first, cache = self.subject.inputs(0), devices.last_cache(self.device)
        each = max(1, nbytes(first))
        number = min(MOST_SETS, max(2, math.ceil(2 * cache / each)))
        self.facts |= {"sets": number, "rotated_bytes": number * each, "cache_bytes": cache}
        return [first, *(self.subject.inputs(seed) for seed in range(1, number))]

    def _warm_up(self, least: int = 4, most: int = 24) -> None:
        """Call until three calls in a row take about the least; what calls recorded is a cost."""
        self.facts["first_s"] = devices.seconds(self.run, self.inputs[0], self.device)
        times: list[float] = []
        while len(times) < most and not (len(times) >= least and steady(times)):
            arguments = self.inputs[len(times) % len(self.inputs)]
            times.append(devices.seconds(self.run, arguments, self.device))
        self.call_s = statistics.median(times[-3:])
        self.facts["recording_s"] = max(0.0, sum(times) - len(times) * self.call_s)
        self.facts["warm_calls"] = 1 + len(times)
        self.facts["call_us"] = self.call_s * 1e6

    def _checked(self) -> tuple[str, str]:
        """Whether what is timed is right, by its error beside eager's."""
        arguments = self.inputs[-1]
        exact = self.subject.exact(*arguments)
        own = error(self._outcome(self.run, arguments), exact)
        plain = error(self._outcome(self.subject.make(eager), arguments), exact)
        self.facts |= {"error": _finite(own), "eager_error": _finite(plain)}
        if own <= max(2 * plain, self.subject.floor):
            return "ok", ""
        return "mismatch", f"error {own:.2e} against float64; eager's is {plain:.2e}"

    def _outcome(self, run: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if self.subject.outcome is not None:
            return self.subject.outcome(run, arguments)
        return [t.detach().clone() for t in tensors(run(*arguments))]

    def _count(self, mode: str) -> None:
        """Peak memory of a warm call, the bytes that no way can avoid, and what compiles came to.

        `flops` are those of products, convolutions and attention, as torch's FlopCounterMode
        counts them; `least_bytes` has each input, weight and output once.
        """
        devices.forget_peak(self.device)
        results = self.run(*self.inputs[0])
        self.facts["peak_bytes"] = devices.peak(self.device)
        read = nbytes(self.inputs[0]) + self.subject.weights
        self.facts["least_bytes"] = read + nbytes(results)
        if mode == EAGER:
            self.facts["flops"] = self._flops()
        else:
            self.facts |= private.counted()

    def _flops(self) -> int | None:
        """None where an operator's own formula fails on what it is given."""
        try:
            with FlopCounterMode(display=False) as counter:
                self.run(*self.inputs[0])
        except Exception:
            return None
        return int(counter.get_total_flops())

    def obey(self, calls: int, pipe: Connection) -> None:
        """Time so many calls and say their time; for 0 give back memory that is not used."""
        if calls:
            pipe.send({"us": self.stretch(calls)})
        else:
            self._let_go()

    def _let_go(self) -> None:
        gc.collect()
        if self.device == "cuda":
            torch.cuda.empty_cache()

    def stretch(self, calls: int) -> float:
        """Time of one call in µs, over `calls` calls after one that is not counted."""
        self.run(*self.inputs[-1])
        return devices.microseconds(self.run, self.inputs, calls, self.device)


def steady(times: list[float]) -> bool:
    """The last three calls took about the least time of all."""
    return max(times[-3:]) <= _STEADY * min(times)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
