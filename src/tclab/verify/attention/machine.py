"""The machine as the rules see it: the GPU that is here, and the switches of a case."""

from __future__ import annotations

from tclab.capturing.target.sdpa.call import BACKENDS, Machine
from tclab.verify.attention.cases import Case


def machine(case: Case, capability: tuple[int, int], cudnn: int) -> Machine:
    """The machine with the switches of the case; an order of the user's is completed."""
    order = case.order
    if order:
        order = (*order, *(name for name in BACKENDS if name not in order))
    return Machine(capability, cudnn, case.enabled, order, case.deterministic)
