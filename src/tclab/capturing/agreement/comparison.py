"""Compare the calls of a capture with eager: from the copies made before to the verdict."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from tclab.capturing.agreement import operators, runs, stages
from tclab.capturing.agreement.judge import NOTHING_KNOWN, Held, Reference, hold
from tclab.capturing.agreement.observed import Observation
from tclab.capturing.agreement.worlds import Call, World
from tclab.capturing.torch_private import replaying
from tclab.model import EQUAL, RANDOM, UNKNOWN, Agreement

_OWN = "this machine's own compile: the numbers of a GPU that is not here cannot be known"
#: Runs in float64 with the noise of rounding; and before a difference is said: in few of them
#: the noise of an element can cancel by chance.
_NOISY, _MORE_NOISY = 2, 12


@dataclass
class Comparison:
    """The comparison of one capture: `begin` it before the capture, `add_result` after each call,
    and ask for the `agreement` at the end.
    """

    world: World
    start: World
    draws: runs.Draws
    backward: bool
    seen: Observation = field(default_factory=Observation)

    @classmethod
    def begin(
        cls, fn: Callable[..., Any], calls: Sequence[Call], backward: bool
    ) -> Comparison | str:
        """Copy all that the calls start from; why not, where it cannot be copied."""
        world = World.of(fn, calls)
        try:
            return cls(world, world.copy(), runs.Draws(), backward)
        except Exception as error:
            return f"its state cannot be copied: {type(error).__name__}: {error!s:.120}"

    def add_result(self, result: object) -> None:
        """Take down what a compiled call returned."""
        self.seen.add_result(result, self.world)

    def agreement(self, options: Mapping[str, Any]) -> Agreement:
        """Make the calls by eager, from the same start, and compare. `options` are those of the
        capture's torch.compile, with which a difference is looked into.
        """
        self.world.contents = [each.get() for each in self.world.variables]
        self.seen.add_state(self.world)
        try:
            return self._judged(options)
        except Exception as error:
            return Agreement(UNKNOWN, reason=f"{type(error).__name__}: {error!s:.200}")

    def of_a_compile(self, options: Mapping[str, Any]) -> Agreement:
        """The same of a compile that is made for it, on this machine."""
        try:
            self.seen = self.compiled(options, same_draws=False)
            found = self._judged(options)
        except Exception as error:
            return Agreement(UNKNOWN, reason=f"{type(error).__name__}: {error!s:.200}")
        return replace(found, reason="; ".join(filter(None, (_OWN, found.reason))))

    def _judged(self, options: Mapping[str, Any]) -> Agreement:
        eager = self.eager()
        if not hold(eager, self.seen).differences:
            return _equal(hold(eager, self.seen))
        if hold(eager, self.eager(), NOTHING_KNOWN).differences:
            return Agreement(RANDOM, reason="two eager runs with the same seed differ, too")
        for noisy_runs in (_NOISY, _MORE_NOISY):
            reference = self.reference(noisy_runs)
            held = hold(eager, self.seen, reference)
            if not held.differences:
                return _equal(held)
        again = self.compiled(options, same_draws=True)
        if not (held := hold(eager, again, reference)).differences:
            return _equal(held, "with the random numbers of eager: fallback_random")

        def differs(changed: Mapping[str, Any]) -> bool:
            seen = self.compiled({**_kept(options), **changed})
            return bool(hold(eager, seen, reference).differences)

        return stages.explained(held.differences, differs, self._first_operator)

    def _first_operator(self, backend: str) -> operators.Operator | None:
        """The first operator that differs at the stage of a backend; None where the graphs cannot
        be run alone.
        """
        try:
            with warnings.catch_warnings(), replaying.leaving_no_transform():
                warnings.simplefilter("ignore")
                if backend == "inductor":
                    return operators.wrong_in_inductor(self.compiled)
                found: list[torch.Tensor] = []
                runs.run_eager(
                    self.start.copy(), self.draws, self.backward, replaying.noting_values(found)
                )
                return operators.not_among(self.compiled, found, dynamo=backend == "eager")
        except Exception:  # what cannot be replayed has no line, and all else is said
            return None

    # ----------------------------------------------------------------------- the runs

    def eager(self) -> Observation:
        """The calls without the compiler, from the start."""
        return runs.run_eager(self.start.copy(), self.draws, self.backward)

    def compiled(self, options: Mapping[str, Any], *, same_draws: bool = True) -> Observation:
        """The calls compiled anew, from the start."""
        world = self.start.copy()
        return runs.run_compiled(world, self.draws, self.backward, options, same_draws)

    def reference(self, noisy_runs: int) -> Reference:
        """The calls in float64; nothing where the function cannot be called so."""
        exact, eps = self._wide()
        if exact.error:
            return NOTHING_KNOWN
        noisy = [self._wide(eps, seed)[0] for seed in range(1, noisy_runs + 1)]
        if any(each.error for each in noisy):
            return NOTHING_KNOWN
        return Reference(exact, tuple(noisy), eps)

    def _wide(self, noise: float = 0.0, seed: int = 0) -> tuple[Observation, float]:
        world = self.start.copy(lambda tensor: tensor.double())
        seen, eps = runs.run_wide(world, self.draws, self.backward, noise, seed)
        return seen, max(eps, self.start.eps())


def _kept(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that every backend takes."""
    return {name: value for name, value in options.items() if name in ("dynamic", "fullgraph")}


def _equal(held: Held, reason: str = "") -> Agreement:
    return Agreement(EQUAL, held.ulps, held.error, held.eager_error, reason=reason)
