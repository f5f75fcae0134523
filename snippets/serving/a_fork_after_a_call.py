"""A process calls compiled code, forks, and the child calls it, too.

The loop of the kernel is shared by OpenMP's threads. A fork copies one thread of a process, so that
the child has OpenMP's notes on the others, and not the threads. Each row is a process of its own.
A child that has not ended after three seconds is ended from outside.
"""
# tclab: needs=cxx timeout=180

import os
import signal
import time

import torch

import tclab


def f(x):
    return x.sin() + 1


def compiled(x):
    return torch.compile(f)(x)


def in_a_fork(seconds, *steps):
    """Run the steps in a fork: "right", or what became of it."""
    if not (child := os.fork()):
        code = 1
        try:
            for step in steps:
                code = step() or 0
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return ENDS.get(os.waitstatus_to_exitcode(status), "fails")
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"


def call(fn, size, threads):
    """A step: compare a call's result, computed by so many threads, with one thread's."""

    def step():
        torch.set_num_threads(threads)
        return int(not torch.allclose(fn(x[:size]), expected[:size]))

    return step


def fork_and(*steps, seconds=60):
    """A step: fork, and run the steps in the child."""
    return lambda: CODES[in_a_fork(seconds, *steps)]


ENDS = {0: "right", 1: "fails", 2: "hangs"}
CODES = {end: code for code, end in ENDS.items()}
LARGE, SMALL = 100_000, 100
torch.set_num_threads(1)
x = torch.rand(LARGE)
expected = f(x)
many, one, few = call(compiled, LARGE, 2), call(compiled, LARGE, 1), call(compiled, SMALL, 2)
eager = call(f, LARGE, 2)
rows = [
    ("compiled, one thread", "the same", in_a_fork(60, one, fork_and(one))),
    ("compiled, one thread", "a size that compiles again", in_a_fork(60, one, fork_and(few))),
    ("compiled, two threads", "the same", in_a_fork(60, many, fork_and(many, seconds=3))),
    ("compiled, two threads", "the same with one", in_a_fork(60, many, fork_and(one))),
    ("eager, two threads", "the same", in_a_fork(60, eager, fork_and(eager, seconds=3))),
]
columns = ("before the fork", "in the child", "the child")
tclab.show(tclab.Table("A call before and after a fork", "forks", columns, rows))
ends = [row[2] for row in rows]
# claim: one-thread-survives-a-fork
assert ends[:2] == ["right", "right"]
# claim: a-parallel-loop-before-the-fork-hangs-the-child
assert ends[2] == "hangs"
# claim: unless-the-child-takes-one-thread
assert ends[3] == "right"
# claim: eager-hangs-as-well
assert ends[4] == "hangs"
