"""Two threads compile: forwards one after the other, backwards side by side.

Each of two functions is called in a thread of its own, and so is its backward. The compiler of
either waits for the other at a barrier. It gives up where the other cannot begin before it ends.
PyTorch 2.11 is not asked about forwards: it dies of two threads that compile.
"""

from threading import Barrier, BrokenBarrierError, Thread

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd

import tclab


def meets(barrier, seconds):
    """A compiler that notes whether another one runs beside it."""

    def compiler(graph, inputs):
        try:
            barrier.wait(seconds)
            met.append(True)
        except BrokenBarrierError:
            met.append(False)
        return make_boxed_func(graph.forward)

    return compiler


def plain(graph, inputs):
    return make_boxed_func(graph.forward)


def in_threads(calls):
    threads = [Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def side_by_side(stage, **compilers):
    """Whether both compilers of a stage met."""
    torch._dynamo.reset()
    met.clear()
    backend = aot_autograd(**{"fw_compiler": plain, "bw_compiler": plain, **compilers})
    functions = [torch.compile(f, backend=backend) for f in (torch.sin, torch.cos)]
    x, losses = torch.ones(3, requires_grad=True), []
    forwards = [lambda f=f: losses.append(f(x).sum()) for f in functions]
    if stage == "forward":
        in_threads(forwards)
    else:
        for forward in forwards:
            forward()
        in_threads([loss.backward for loss in losses])
    assert len(met) == 2
    return all(met)


met: list[bool] = []
rows = [("backward", side_by_side("backward", bw_compiler=meets(Barrier(2), 60)))]
# claim: backwards-side-by-side
assert rows[0][1]
if torch.__version__ >= (2, 12):
    rows.append(("forward", side_by_side("forward", fw_compiler=meets(Barrier(2), 1))))
    # claim: forwards-one-after-the-other, torch >= 2.12
    assert not rows[1][1]

tclab.show(tclab.Table("Two threads compile", "stages", ("stage", "side by side"), rows))
