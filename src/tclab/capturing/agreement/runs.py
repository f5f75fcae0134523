"""Make the calls of a setup in eager PyTorch, in float64, or compiled."""

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
from torch.overrides import TorchFunctionMode

from tclab.capturing.agreement.observed import Observation
from tclab.capturing.agreement.setups import Setup
from tclab.capturing.backward import run_backward
from tclab.capturing.fresh import hide_earlier_compiles
from tclab.capturing.torch_private import compiler

#: A function that returns a context manager, within which the calls are made.
Mode = AbstractContextManager[Any]


class ProcessState:
    """The state of the random number generators of Python and NumPy, and PyTorch's grad mode and
    default dtype. PyTorch's generators are seeded instead.
    """

    def __init__(self) -> None:
        self.python = random.getstate()
        self.numpy = sys.modules.get("numpy")
        self.numpy_state = self.numpy.random.get_state() if self.numpy else None
        self.grad, self.dtype = torch.is_grad_enabled(), torch.get_default_dtype()

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Restore the state, and seed PyTorch for the block. After the block all generators
        continue as if the block had drawn no random number.
        """
        before = ProcessState()
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
        torch.set_grad_enabled(self.grad)
        torch.set_default_dtype(self.dtype)


def run(
    setup: Setup, process_state: ProcessState, backward: bool, fn: Callable[..., Any], mode: Mode
) -> Observation:
    """Make the calls of `setup` with `fn`. Record the results and errors of the calls, and their
    effects on the state.
    """
    observed = Observation()
    with redirect_stdout(sys.stderr), process_state.restoring(), setup.applied(), mode:
        try:
            for args, kwargs in setup.calls:
                result = fn(*args, **kwargs)
                if backward:
                    run_backward(result)
                observed.add_result(result, setup)
        except Exception as error:
            observed.error = error
    observed.add_state(setup)
    return observed


def run_eager(
    setup: Setup, process_state: ProcessState, backward: bool, mode: Mode | None = None
) -> Observation:
    """Make the calls without the compiler, even if the function itself uses torch.compile."""
    with torch.compiler.set_stance("force_eager"):
        return run(setup, process_state, backward, setup.fn, mode or nullcontext())


@contextmanager
def filling_memory() -> Iterator[None]:
    """During the block, fill new memory with NaN, or with the largest integer. PyTorch does this
    while deterministic algorithms are switched on.
    """
    before = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warn_only)


class ClearedMemory(TorchFunctionMode):
    """During the block, write 0 to what `torch.empty` and its siblings return."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if "empty" in getattr(func, "__name__", "") and isinstance(result, torch.Tensor):
            with torch.no_grad():
                result.zero_()
        return result


def run_compiled(
    setup: Setup,
    process_state: ProcessState,
    backward: bool,
    options: Mapping[str, Any],
    eager_random: bool = False,
) -> Observation:
    """Compile the function anew and make the calls. With `eager_random` the compiled function draws
    the same random numbers as eager.
    """
    with ExitStack() as stack:
        stack.enter_context(hide_earlier_compiles(setup.fn))
        if eager_random:
            stack.enter_context(compiler.draw_as_eager())
        compiled = torch.compile(setup.fn, **options)
        return run(setup, process_state, backward, compiled, nullcontext())
