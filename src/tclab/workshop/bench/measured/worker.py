"""Prepare one case in one mode in a process of its own, check the result, and time calls on
request.
"""

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

from tclab.model import EAGER, is_steady
from tclab.system import inductor_cache
from tclab.text.scrub import scrub
from tclab.workshop.bench.case import Case
from tclab.workshop.bench.measured import device as devices
from tclab.workshop.bench.measured import private
from tclab.workshop.bench.measured.lock import hold_lock
from tclab.workshop.bench.measured.modes import make_callable
from tclab.workshop.bench.rows import Facts
from tclab.workshop.bench.task import Task
from tclab.workshop.catalog.subject import (
    Subject,
    collect_tensors,
    count_bytes,
    eager,
    relative_error,
)

MOST_SETS = 24


def run_worker(task: Task, pipe: Connection) -> None:
    """Prepare a case, send the outcome, and time calls on request until the pipe closes."""
    try:
        prepared = PreparedCase(task)
    except Exception as problem:
        pipe.send({"status": classify_error(problem, task.case), "reason": describe_error(problem)})
        return
    pipe.send({"status": prepared.status, "reason": prepared.reason, "facts": prepared.facts})
    try:
        while True:
            prepared.serve(pipe.recv(), pipe)
    except EOFError:  # the command ended
        return
    except Exception as problem:
        pipe.send({"status": "failed", "reason": describe_error(problem)})


def classify_error(problem: Exception, case: Case) -> str:
    """Return the status of a row for an error: ``memory``, ``skipped`` or ``failed``."""
    if isinstance(problem, torch.cuda.OutOfMemoryError):
        return "memory"
    if isinstance(problem, ModuleNotFoundError) and problem.name in case.needs:
        return "skipped"
    return "failed"


def describe_error(problem: Exception) -> str:
    """Return the error in a few lines, without paths of this machine."""
    lines = [line for line in str(problem).splitlines() if line.strip()]
    return scrub(f"{type(problem).__name__}: " + "\n".join(lines[:4])[:600])


def build_subject(case: Case, device: str) -> Subject:
    """Return the case's subject, with random weights from seed 0."""
    module, _, name = case.builder.partition(":")
    torch.manual_seed(0)
    make = getattr(importlib.import_module(f"tclab.workshop.catalog.{module}"), name)
    subject: Subject = make(device, **case.size)
    return subject


class PreparedCase:
    """A case in one mode that is warmed up and checked. Its `facts` go into the row."""

    def __init__(self, task: Task) -> None:
        self.device = task.device
        self.facts = Facts()
        self._set_up(task)
        start = time.perf_counter()
        self.subject = build_subject(task.case, task.device)
        torch.set_grad_enabled(self.subject.grad)
        self.inputs = self._make_input_sets()
        self.facts["build_s"] = time.perf_counter() - start
        self.run = make_callable(self.subject, task.mode, self.inputs[0])
        self._warm_up()
        with hold_lock(task.lock):
            self.status, self.reason = self._check_result()
            self._record_costs(task.mode)
        self._free_memory()
        self.facts["held_bytes"] = devices.reserved_bytes(task.device)

    def _set_up(self, task: Task) -> None:
        cache = os.path.join(task.cache, "inductor")
        inductor_cache.copy_cpu_trials(cache)
        os.environ[inductor_cache.VARIABLE] = cache
        os.environ["TRITON_CACHE_DIR"] = os.path.join(task.cache, "triton")
        torch.set_num_threads(task.threads)
        torch.set_float32_matmul_precision("high" if task.device == "cuda" else "highest")
        private.enable_byte_count()
        if task.device == "cuda":
            private.serialize_tuning(functools.partial(hold_lock, task.lock))

    def _make_input_sets(self) -> list[tuple[Any, ...]]:
        """Return enough sets of inputs to fill the last-level cache twice, but at most
        `MOST_SETS`.
        """
        first, cache = self.subject.inputs(0), devices.last_cache(self.device)
        each = max(1, count_bytes(first))
        number = min(MOST_SETS, max(2, math.ceil(2 * cache / each)))
        self.facts |= {"sets": number, "rotated_bytes": number * each, "cache_bytes": cache}
        return [first, *(self.subject.inputs(seed) for seed in range(1, number))]

    def _warm_up(self, fewest_calls: int = 4, most_calls: int = 24) -> None:
        """Call until three successive calls are about as fast as the fastest one; record the extra
        time.
        """
        self.facts["first_s"] = devices.time_one_call(self.run, self.inputs[0], self.device)
        times: list[float] = []
        while len(times) < most_calls and not (len(times) >= fewest_calls and is_steady(times)):
            arguments = self.inputs[len(times) % len(self.inputs)]
            times.append(devices.time_one_call(self.run, arguments, self.device))
        self.call_s = statistics.median(times[-3:])
        self.facts["recording_s"] = max(0.0, sum(times) - len(times) * self.call_s)
        self.facts["warm_calls"] = 1 + len(times)
        self.facts["call_us"] = self.call_s * 1e6

    def _check_result(self) -> tuple[str, str]:
        """Compare the error of the result with eager's; return ``ok`` or ``mismatch``, and the
        reason.
        """
        arguments = self.inputs[-1]
        exact = self.subject.exact(*arguments)
        own = relative_error(self._run_safely(self.run, arguments), exact)
        plain = relative_error(self._run_safely(self.subject.make(eager), arguments), exact)
        self.facts |= {"error": _drop_infinite(own), "eager_error": _drop_infinite(plain)}
        if own <= max(2 * plain, self.subject.floor):
            return "ok", ""
        return "mismatch", f"error {own:.2e} against float64; eager's is {plain:.2e}"

    def _run_safely(self, run: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if self.subject.outcome is not None:
            return self.subject.outcome(run, arguments)
        return [t.detach().clone() for t in collect_tensors(run(*arguments))]

    def _record_costs(self, mode: str) -> None:
        """Record the peak memory of a warm call, its minimum traffic, and the compiler's counts.

        `flops` counts the operations of products, convolutions and attention as torch's
        FlopCounterMode does. `least_bytes` counts each input, weight and output once.
        """
        devices.reset_peak_memory(self.device)
        results = self.run(*self.inputs[0])
        self.facts["peak_bytes"] = devices.peak_bytes(self.device)
        read = count_bytes(self.inputs[0]) + self.subject.weights
        self.facts["least_bytes"] = read + count_bytes(results)
        if mode == EAGER:
            self.facts["flops"] = self._count_flops()
        else:
            self.facts |= private.read_counters()

    def _count_flops(self) -> int | None:
        """Return the operations of a call; None if an operator's formula fails on its arguments."""
        try:
            with FlopCounterMode(display=False) as counter:
                self.run(*self.inputs[0])
        except Exception:
            return None
        return int(counter.get_total_flops())

    def serve(self, calls: int, pipe: Connection) -> None:
        """For each request time `calls` calls and send the time of one call; for 0 calls free
        unused memory.
        """
        if calls:
            pipe.send({"us": self.time_calls(calls)})
        else:
            self._free_memory()

    def _free_memory(self) -> None:
        gc.collect()
        if self.device == "cuda":
            torch.cuda.empty_cache()

    def time_calls(self, calls: int) -> float:
        """Return the mean time of one call in µs over `calls` calls, after one call that does not
        count.
        """
        self.run(*self.inputs[-1])
        return devices.time_calls(self.run, self.inputs, calls, self.device)


def _drop_infinite(value: float) -> float | None:
    return value if math.isfinite(value) else None
