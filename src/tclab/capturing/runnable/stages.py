"""Observe the compile of a rebuilt graph, and link its stages: the graph that Inductor lowered, its
IR, the kernels, and on request their machine code.

The stages begin at Inductor's graph. No line of the user's is among them, since the file that a
trace names may be another one on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tclab.capturing.chain.chains import build_chains
from tclab.capturing.listen import listen
from tclab.capturing.result import Capture
from tclab.capturing.runnable.question import MACHINE
from tclab.capturing.target.capture import TargetCapture, TargetOutcome
from tclab.capturing.target.timing.variants import Wrappers
from tclab.capturing.torch_private import compiler
from tclab.capturing.trace.events import Trace
from tclab.model import Chain
from tclab.targets import Target


@contextmanager
def observing(stages: str) -> Iterator[Trace]:
    """Yield what is heard of the compile in the block; nothing is, if no `stages` are asked for."""
    if not stages:
        yield Trace()
        return
    with compiler.make_stages_observable(), listen() as trace:
        yield trace


def link_stages(trace: Trace, stages: str, target: Target | None, wrappers: Wrappers) -> Chain:
    """Return the stages of the compile that was observed. Raises CaptureError if Triton cannot
    compile a kernel.
    """
    captured: Capture = Capture(trace)
    if target is not None:
        captured = TargetCapture(trace, (), target, TargetOutcome(wrappers))
    if stages == MACHINE:
        captured.compile_kernels()
    graphs = {"dynamo": captured.post_grad}  # the graph of which a chain is made
    chains = build_chains(trace, graphs, (), captured.units, {})
    return chains[0] if chains else Chain("", "chain")
