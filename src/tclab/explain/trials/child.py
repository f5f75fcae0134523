"""Run the process from which trials are forked. The process imports PyTorch once, and none of the
reader's code.

The process writes READY. Then it reads triples of a working folder, a request and a remedy from its
standard input, and answers each triple with a `TrialResult`. On a platform without fork the process
makes one trial and exits.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import BinaryIO

from tclab.explain.child_process import open_answers
from tclab.explain.request import ExplainRequest
from tclab.explain.trials.attempt import attempt
from tclab.explain.trials.remedy import READY, Remedy, TrialResult
from tclab.system.processes import request_signal_at_parent_death


def main() -> None:
    """Answer requests until the input ends."""
    request_signal_at_parent_death(os.getppid())
    send = open_answers()
    import tclab.explain.watch.warm  # noqa: F401

    requests = sys.stdin.buffer
    send(READY)
    while True:
        try:
            folder, request, remedy = pickle.load(requests)
        except EOFError:
            return
        send(_try_in_fork(folder, request, remedy, requests))
        if not hasattr(os, "fork"):
            return


def _try_in_fork(
    folder: str, request: ExplainRequest, remedy: Remedy, requests: BinaryIO
) -> TrialResult:
    """Make a trial in a forked process that works in `folder`; return its result, or how the
    process ended.
    """
    if not hasattr(os, "fork"):
        return attempt(request, remedy)
    reads, writes = os.pipe()
    own = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            request_signal_at_parent_death(own)
            requests.close()
            os.close(reads)
            os.chdir(folder)
            with os.fdopen(writes, "wb") as answer:
                pickle.dump(attempt(request, remedy), answer)
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    result: TrialResult = pickle.loads(said) if said else TrialResult("the process ended")
    return result


if __name__ == "__main__":
    main()
