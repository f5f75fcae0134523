"""Run a process that makes the reader's calls in one mode, and times these calls on request.

The process reads a `MeasureRequest` and answers with `Prepared`. Then it answers each number of
repetitions with a `Round`, a `ProfileRequest` with the runs of graphs, and a `MemoryRequest` with
the memory of a pass, until its input ends.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tclab.explain.child_process import open_answers
from tclab.explain.measure.passes import Passes, answer, prepare
from tclab.explain.measure.protocol import MeasureRequest, Prepared
from tclab.model import EAGER
from tclab.system.processes import request_signal_at_parent_death


def main() -> None:
    """Answer requests until the input ends."""
    request_signal_at_parent_death(os.getppid())
    send = open_answers()
    measure_request: MeasureRequest = pickle.load(sys.stdin.buffer)
    os.chdir(measure_request.folder)
    try:
        with _load_calls(measure_request) as passes:
            send(prepare(passes))
            while True:
                send(answer(passes, pickle.load(sys.stdin.buffer)))
    except EOFError:
        return
    except (Exception, SystemExit) as error:
        from tclab.explain import load

        send(Prepared(problem=load.last_line(error) or type(error).__name__))


@contextmanager
def _load_calls(measure_request: MeasureRequest) -> Iterator[Passes]:
    """Import the reader's file, and yield the passes over all calls."""
    import torch

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
        yield Passes.make(fn, named_subject.calls(), named_subject.callable, request.backward)


if __name__ == "__main__":
    main()
