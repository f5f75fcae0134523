"""Make the calls of a world: by eager PyTorch, in float64, or compiled."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
    redirect_stdout,
)
from typing import Any

import torch

from tclab.capturing.agreement.observed import Observation
from tclab.capturing.agreement.worlds import World
from tclab.capturing.backward import run_backward
from tclab.capturing.fresh import hide_earlier_compiles
from tclab.capturing.torch_private import compiler, precision

#: What is in force while calls are made.
Mode = AbstractContextManager[Any]


class Draws:
    """The state of Python's and NumPy's random numbers, to be had again. PyTorch's are seeded."""

    def __init__(self) -> None:
        self.python = random.getstate()
        self.numpy = sys.modules.get("numpy")
        self.numpy_state = self.numpy.random.get_state() if self.numpy else None

    @contextmanager
    def again(self) -> Iterator[None]:
        """Draw the same numbers during the block as after this object was made; afterwards all go
        on as before.
        """
        before = Draws()
        try:
            self._restore()
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                yield
        finally:
            before._restore()

    def _restore(self) -> None:
        random.setstate(self.python)
        if self.numpy is not None:
            self.numpy.random.set_state(self.numpy_state)


def run(
    world: World, draws: Draws, backward: bool, fn: Callable[..., Any], mode: Mode
) -> Observation:
    """Make the calls of `world` by `fn`, and take down what they return, raise and leave."""
    seen = Observation()
    with redirect_stdout(sys.stderr), draws.again(), world.entered(), mode:
        try:
            for args, kwargs in world.calls:
                result = fn(*args, **kwargs)
                if backward:
                    run_backward(result)
                seen.add_result(result, world)
        except Exception as error:
            seen.error = error
    seen.add_state(world)
    return seen


def run_eager(world: World, draws: Draws, backward: bool, mode: Mode | None = None) -> Observation:
    """Make the calls without the compiler, also where the function itself compiles something."""
    with torch.compiler.set_stance("force_eager"):
        return run(world, draws, backward, world.fn, mode or nullcontext())


def run_wide(
    world: World, draws: Draws, backward: bool, noise: float = 0.0, seed: int = 0
) -> tuple[Observation, float]:
    """Make the calls in float64, as `precision.Widened` says; also return the precision of the
    coarsest type that the function uses.
    """
    mode = precision.Widened(noise, seed)
    return run_eager(world, draws, backward, mode), mode.eps


def run_compiled(
    world: World, draws: Draws, backward: bool, options: Mapping[str, Any], same_draws: bool = False
) -> Observation:
    """Compile the function anew and make the calls. With `same_draws` its random numbers are those
    that eager draws.
    """
    with ExitStack() as stack:
        stack.enter_context(hide_earlier_compiles(world.fn))
        if same_draws:
            stack.enter_context(compiler.draw_as_eager())
        compiled = torch.compile(world.fn, **options)
        return run(world, draws, backward, compiled, nullcontext())
