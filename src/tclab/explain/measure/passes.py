"""Time passes over the reader's calls in one mode, and measure their memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tclab.explain.measure.profiled import profile_passes
from tclab.explain.measure.protocol import MemoryRequest, Prepared, ProfileRequest, Round
from tclab.model import PassMemory, PassProfile, is_steady
from tclab.system import threads

if TYPE_CHECKING:
    import torch

    from tclab.explain.inputs import Call

#: The calls are warm once the last three passes over them were about as fast as the fastest pass.
_FEWEST_PASSES, _MOST_PASSES = 4, 24
#: Seconds after which the calls count as warm.
_WARM_SECONDS = 20.0
#: The most lines that the memory of eager is told by.
_MOST_LINES = 3


@dataclass(frozen=True)
class Passes:
    """The calls of `fn`, with a backward of each if `backward`. After a backward the gradients of
    `leaves` are set to None, as in a training step.
    """

    fn: Callable[..., object]
    calls: Sequence[Call]
    backward: bool
    leaves: Sequence[torch.Tensor]

    @classmethod
    def make(
        cls, fn: Callable[..., object], calls: Sequence[Call], owner: object, backward: bool
    ) -> Passes:
        """Return the passes over `calls`. The parameters are those of the `owner` if it is a
        module.
        """
        return cls(fn, calls, backward, _find_leaves(owner, calls) if backward else [])

    def run(self) -> None:
        """Make all calls once."""
        for call in self.calls:
            # CUDA graphs write the next results and gradients to the same memory: keep none
            self.finish(self.forward(call))

    def forward(self, call: Call) -> object:
        """Make one call, and return its result."""
        return self.fn(*call.args, **call.kwargs)

    def finish(self, result: object) -> None:
        """Run the backward of a result, if one is wanted."""
        from tclab.capturing.backward import run_backward

        if self.backward:
            run_backward(result)
        for leaf in self.leaves:
            leaf.grad = None


def _find_leaves(owner: object, calls: Sequence[Call]) -> list[torch.Tensor]:
    """Return the tensors that get gradients: arguments of calls, and parameters of a module."""
    import torch

    from tclab.capturing.torch_private import compiler

    arguments = compiler.nested_leaves([(call.args, call.kwargs) for call in calls])
    parameters = owner.parameters() if isinstance(owner, torch.nn.Module) else ()
    tensors = (each for each in (*arguments, *parameters) if isinstance(each, torch.Tensor))
    return [each for each in tensors if each.requires_grad and each.is_leaf]


def answer(passes: Passes, request: object) -> Round | PassProfile | PassMemory:
    """Answer a request of `protocol` other than the first."""
    if isinstance(request, ProfileRequest):
        return profile_passes(passes.run, request.passes)
    if isinstance(request, MemoryRequest):
        return measure_memory(passes, by_line=request.by_line)
    assert isinstance(request, int)
    return time_round(passes.run, request)


def prepare(passes: Passes) -> Prepared:
    """Make the calls until they are warm."""
    import torch

    first = time_round(passes.run, 1).seconds
    times: list[float] = []
    began = time.monotonic()
    while len(times) < _MOST_PASSES and not (len(times) >= _FEWEST_PASSES and is_steady(times)):
        times.append(time_round(passes.run, 1).seconds)
        if time.monotonic() - began > _WARM_SECONDS and len(times) >= 2:
            break
    gpu = torch.cuda.get_device_name() if torch.cuda.is_initialized() else ""
    return Prepared(first, min(times[-3:]), gpu, torch.get_num_threads())


def time_round(run: Callable[[], None], repetitions: int) -> Round:
    """Make all calls this number of times. Return the mean seconds of one pass over the calls,
    until the device has finished.
    """
    import torch

    wait = torch.cuda.synchronize if torch.cuda.is_initialized() else _wait_for_nothing
    wait()
    before = threads.read_waits()
    began = time.perf_counter()
    for _ in range(repetitions):
        run()
    issued = time.perf_counter()
    wait()
    seconds = time.perf_counter() - began
    waited = threads.sum_waits(before)
    return Round(seconds / repetitions, (issued - began) / seconds, waited / repetitions)


def _wait_for_nothing() -> None:
    """Do nothing: a CPU has finished when a call returns."""


# --------------------------------------------------------------------------- memory


def measure_memory(passes: Passes, *, by_line: bool = False) -> PassMemory:
    """Return the most memory that one call holds, beyond what was there before the call."""
    import torch

    from tclab.capturing.torch_private import held
    from tclab.text import user_lines

    measure = _measure_on_gpu if torch.cuda.is_initialized() else _measure_on_cpu
    each = [measure(passes, call) for call in passes.calls]
    return PassMemory(
        max(peak for peak, _ in each),
        max(saved for _, saved in each) if passes.backward else None,
        _count_graph_memory() if torch.cuda.is_initialized() else 0,
        tuple(held.find_largest_lines(passes.run, _MOST_LINES, user_lines.is_user_file))
        if by_line
        else (),
    )


def _measure_on_cpu(passes: Passes, call: Call) -> tuple[int, int]:
    """Return the most bytes of a call, and those that its forward keeps for the backward."""
    from tclab.capturing.observe import memory

    results: list[object] = []
    phases = {
        "forward": lambda: results.append(passes.forward(call)),
        "backward": lambda: passes.finish(results[0]),
    }
    (run,) = memory({"call": phases}).runs
    return run.peak, max(0, run.after("forward") - _count_bytes(results))


def _measure_on_gpu(passes: Passes, call: Call) -> tuple[int, int]:
    import torch

    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    result = passes.forward(call)
    saved = torch.cuda.memory_allocated() - before - _count_bytes(result)
    passes.finish(result)
    return torch.cuda.max_memory_allocated() - before, max(0, saved)


def _count_bytes(value: object) -> int:
    """Return the bytes of the distinct storages in nested values."""
    import torch

    from tclab.capturing.torch_private import compiler

    tensors = (each for each in compiler.nested_leaves(value) if isinstance(each, torch.Tensor))
    storages = (each.untyped_storage() for each in tensors)
    return sum({each.data_ptr(): each.nbytes() for each in storages}.values())


def _count_graph_memory() -> int:
    """Return the bytes that CUDA graphs keep: the segments of their own pools."""
    import torch

    segments = torch.cuda.memory_snapshot()
    return sum(s["total_size"] for s in segments if s.get("segment_pool_id", (0, 0)) != (0, 0))
