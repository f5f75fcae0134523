"""Run a process that makes the reader's calls in one mode, and times these calls on request.

The process reads a `MeasureRequest` and answers with `Prepared`. Then it answers each number of
repetitions with a `Round`, and a `ProfileRequest` with the runs of graphs, until its input ends.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tclab.explain.child_process import open_answers
from tclab.explain.measure.profiled import profile_passes
from tclab.explain.measure.protocol import MeasureRequest, Prepared, ProfileRequest, Round
from tclab.model import EAGER, PassProfile, is_steady
from tclab.system.processes import request_signal_at_parent_death

if TYPE_CHECKING:
    import torch

    from tclab.explain.inputs import Call

#: The calls are warm once the last three passes over them were about as fast as the fastest pass.
_FEWEST_PASSES, _MOST_PASSES = 4, 24
#: Seconds after which the calls count as warm.
_WARM_SECONDS = 20.0


def main() -> None:
    """Answer requests until the input ends."""
    request_signal_at_parent_death(os.getppid())
    send = open_answers()
    measure_request: MeasureRequest = pickle.load(sys.stdin.buffer)
    os.chdir(measure_request.folder)
    try:
        with _load_calls(measure_request) as run:
            send(_prepare(run))
            while True:
                send(_answer(run, pickle.load(sys.stdin.buffer)))
    except EOFError:
        return
    except (Exception, SystemExit) as error:
        from tclab.explain import load

        send(Prepared(problem=load.last_line(error) or type(error).__name__))


def _answer(run: Callable[[], None], request: object) -> Round | PassProfile:
    if isinstance(request, ProfileRequest):
        return profile_passes(run, request.passes)
    assert isinstance(request, int)
    return time_round(run, request)


@contextmanager
def _load_calls(measure_request: MeasureRequest) -> Iterator[Callable[[], None]]:
    """Import the reader's file, and yield a function that makes all calls once."""
    import torch

    from tclab.capturing.backward import run_backward
    from tclab.explain import load, subject
    from tclab.explain.seeds import seeded
    from tclab.explain.trials.patching import patched_compile
    from tclab.explain.trials.remedy import Remedy

    request, compiled = measure_request.request, measure_request.mode != EAGER
    where, _ = load.split(request.spec)
    remedy = Remedy(backend="inductor", compiled=compiled)
    with seeded(), patched_compile(remedy), load.import_module(where) as module:
        named_subject = subject.find_requested(module, request)
        fn = named_subject.callable
        if compiled and not named_subject.own:
            fn = torch.compile(fn, **measure_request.options)
        calls = named_subject.calls()
        leaves = _find_leaves(named_subject.callable, calls) if request.backward else []

        def run() -> None:
            for call in calls:
                result = fn(*call.args, **call.kwargs)
                if request.backward:
                    run_backward(result)
                # CUDA graphs write the next results and gradients to the same memory
                del result
                for leaf in leaves:
                    leaf.grad = None

        yield run


def _find_leaves(fn: Callable[..., object], calls: Sequence[Call]) -> list[torch.Tensor]:
    """Return the tensors of calls that get gradients, as a training step sets them to None: the
    arguments, and the parameters of a module.
    """
    import torch

    from tclab.capturing.torch_private import compiler

    arguments = compiler.nested_leaves([(call.args, call.kwargs) for call in calls])
    parameters = fn.parameters() if isinstance(fn, torch.nn.Module) else ()
    tensors = (each for each in (*arguments, *parameters) if isinstance(each, torch.Tensor))
    return [each for each in tensors if each.requires_grad and each.is_leaf]


def _prepare(run: Callable[[], None]) -> Prepared:
    """Make the calls until they are warm."""
    import torch

    first = time_round(run, 1).seconds
    times: list[float] = []
    began = time.monotonic()
    while len(times) < _MOST_PASSES and not (len(times) >= _FEWEST_PASSES and is_steady(times)):
        times.append(time_round(run, 1).seconds)
        if time.monotonic() - began > _WARM_SECONDS and len(times) >= 2:
            break
    gpu, peak = "", None
    if torch.cuda.is_initialized():
        torch.cuda.reset_peak_memory_stats()
        time_round(run, 1)
        gpu, peak = torch.cuda.get_device_name(), torch.cuda.max_memory_allocated()
    return Prepared(first, min(times[-3:]), gpu, torch.get_num_threads(), peak)


def time_round(run: Callable[[], None], repetitions: int) -> Round:
    """Make all calls this number of times. Return the mean seconds of one pass over the calls,
    until the device has finished.
    """
    import torch

    wait = torch.cuda.synchronize if torch.cuda.is_initialized() else _wait_for_nothing
    wait()
    began = time.perf_counter()
    for _ in range(repetitions):
        run()
    issued = time.perf_counter()
    wait()
    seconds = time.perf_counter() - began
    return Round(seconds / repetitions, (issued - began) / seconds)


def _wait_for_nothing() -> None:
    """Do nothing: a CPU has finished when a call returns."""


if __name__ == "__main__":
    main()
