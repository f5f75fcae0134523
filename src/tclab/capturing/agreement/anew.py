"""Compare the calls of a program that compiles its parts itself with the calls of the same program
without torch.compile.

Compiled objects cannot be copied, so the program is made anew for each run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch

from tclab.capturing.agreement import runs
from tclab.capturing.agreement.comparison import Comparison
from tclab.capturing.agreement.judge import NO_REFERENCE, compare_observations
from tclab.capturing.agreement.observed import Observation
from tclab.capturing.agreement.setups import Call, Setup
from tclab.capturing.agreement.values import Convert
from tclab.capturing.fresh import hide_earlier_compiles
from tclab.capturing.torch_private import compiler
from tclab.model import DIFFERS, Agreement

#: A program: a function and its calls.
Program = tuple[Callable[..., Any], Sequence[Call]]
#: Makes the program anew, without torch.compile.
Make = Callable[[], AbstractContextManager[Program]]
#: Makes the program anew; the given options replace the options of the program's own calls of
#: torch.compile.
MakeWith = Callable[[Mapping[str, Any]], AbstractContextManager[Program]]

_WRAPPER_STAGE = "the object that torch.compile returns, before it compiles anything"


@dataclass
class ComparisonAnew(Comparison):
    """The comparison of a program that compiles its parts itself."""

    make_uncompiled: Make = field(kw_only=True)
    make: MakeWith = field(kw_only=True)

    runs_own_compiles: ClassVar[bool] = True

    @classmethod
    def begin_anew(
        cls, program: Program, backward: bool, make_uncompiled: Make, make: MakeWith
    ) -> ComparisonAnew:
        """Begin the comparison of a program that runs unchanged, with its own calls of
        torch.compile.
        """
        setup = Setup.from_function(*program)
        how: dict[str, Any] = {"make_uncompiled": make_uncompiled, "make": make}
        return cls(setup, setup, runs.ProcessState(), backward, **how)

    def uncompiled_start(self) -> Setup:
        """Make the program anew, without torch.compile."""
        with self.make_uncompiled() as program:
            return Setup.from_function(*program)

    def eager(self, mode: runs.Mode | None = None) -> Observation:
        """Make the calls of the program without torch.compile."""
        with self.make_uncompiled() as program:
            setup = Setup.from_function(*program)
            return runs.run_eager(setup, self.process_state, self.backward, mode)

    def describe_unlike_copy(self) -> str:
        """Return '': nothing is copied."""
        return ""

    def compiled(
        self,
        options: Mapping[str, Any],
        *,
        eager_random: bool = True,
        convert: Convert | None = None,
    ) -> Observation:
        """Make the program anew, and make its calls. The program compiles its parts with `options`.
        `convert` changes the floating-point type of the state.
        """
        with ExitStack() as stack:
            setup = Setup.from_function(*stack.enter_context(self.make(options)))
            if convert is not None:
                setup.convert_in_place(convert)
            stack.enter_context(hide_earlier_compiles(setup.fn))
            if eager_random:
                stack.enter_context(compiler.draw_as_eager())
            return runs.run(setup, self.process_state, self.backward, setup.fn, nullcontext())

    def _judge(self, options: Mapping[str, Any]) -> Agreement:
        found = super()._judge(options)
        if found.verdict == DIFFERS and found.stage == "Dynamo" and self._wrapping_differs():
            return replace(found, stage=_WRAPPER_STAGE)
        return found

    def _wrapping_differs(self) -> bool:
        """Return whether the results differ even if nothing is compiled: then the objects that
        torch.compile returns only call their originals.
        """
        with torch.compiler.set_stance("force_eager"):
            seen = self.compiled({})
        return bool(compare_observations(self.eager(), seen, NO_REFERENCE).differences)
