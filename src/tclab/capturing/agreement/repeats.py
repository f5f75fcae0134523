"""Repeat the calls of a capture from the state at their start: in eager PyTorch, in float64, or
compiled anew.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from tclab.capturing.agreement import runs
from tclab.capturing.agreement.judge import NO_REFERENCE, Reference
from tclab.capturing.agreement.observed import Observation
from tclab.capturing.agreement.setups import Setup
from tclab.capturing.agreement.values import Convert
from tclab.capturing.torch_private import precision

NO_FLOAT64 = "it does not run in float64"
#: The seconds that all runs in float64 of one comparison may take.
SECONDS_IN_FLOAT64 = 60.0
TOO_SLOW = f"its calls in float64 take more than {SECONDS_IN_FLOAT64:.0f} seconds"


@dataclass
class Repeats:
    """Calls that can be made again: `setup` has the objects of the capture, `start` a copy of their
    state at its start.
    """

    setup: Setup
    start: Setup
    process_state: runs.ProcessState
    backward: bool
    #: Custom operator → the argument that it writes to and does not declare.
    undeclared: dict[str, str] = field(default_factory=dict)
    #: When the runs in float64 have to end, by ``time.monotonic``; 0 before the first one.
    float64_end: float = 0.0
    #: Why there is no reference in float64, or ''.
    no_reference: str = ""

    def eager(self, mode: runs.Mode | None = None) -> Observation:
        """Make the calls without the compiler, on a copy of the saved start state, within
        `mode`.
        """
        return runs.run_eager(self.start.copy(), self.process_state, self.backward, mode)

    def eager_twice(self) -> tuple[Observation, Observation]:
        """Make the calls twice without the compiler, with 0 and with the largest value in new
        memory: a result that depends on unwritten memory differs.
        """
        return self.eager(runs.ClearedMemory()), self.eager(runs.filling_memory())

    def compiled(
        self,
        options: Mapping[str, Any],
        *,
        eager_random: bool = True,
        convert: Convert | None = None,
    ) -> Observation:
        """Compile anew, and make the calls on a copy of the saved start state. `convert` changes
        the floating-point type of the state.
        """
        setup = self.start.copy(convert)
        return runs.run_compiled(setup, self.process_state, self.backward, options, eager_random)

    def reference(self, noisy_runs: int) -> Reference:
        """Make the calls in float64; return NO_REFERENCE if the function does not accept this
        type, or is too slow in it.
        """
        self.float64_end = self.float64_end or time.monotonic() + SECONDS_IN_FLOAT64
        exact, eps = self._run_in_float64()
        noisy: list[Observation] = []
        while len(noisy) < noisy_runs and not (noisy or [exact])[-1].error:
            noisy.append(self._run_in_float64(eps, len(noisy) + 1)[0])
        if error := (noisy or [exact])[-1].error:
            slow = isinstance(error, precision.OutOfTimeError)
            self.no_reference = TOO_SLOW if slow else NO_FLOAT64
            return NO_REFERENCE
        return Reference(exact, tuple(noisy), eps)

    def _run_in_float64(self, noise: float = 0.0, seed: int = 0) -> tuple[Observation, float]:
        setup = self.uncompiled_start()
        own_eps, narrow, setup = setup.eps(), setup, setup.copy(to_float64)
        for (_, leaf), (_, wide) in zip(narrow.state(), setup.state()):
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                precision.set_precision(wide, precision.Precision(torch.finfo(leaf.dtype).eps))
        mode = precision.Float64Mode(noise, seed, self.float64_end)
        seen = runs.run_eager(setup, self.process_state, self.backward, mode)
        self.undeclared.update(mode.undeclared)
        return seen, max(mode.eps, own_eps)

    def uncompiled_start(self) -> Setup:
        """Return a copy of the state from which the calls start."""
        return self.start.copy()


def to_float64(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor in float64."""
    return tensor.double()
