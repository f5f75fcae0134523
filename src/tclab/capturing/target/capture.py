"""`capture(fn, target="h200")`: what a compile on a named GPU goes through, without that GPU.

Exact or refused: the graphs, IR, wrapper and kernels are those the same PyTorch makes on the
device, or a TargetError says which operator cannot be known and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from tclab.capturing.backward import run_backward
from tclab.capturing.fresh import fresh
from tclab.capturing.listen import listen
from tclab.capturing.machine_code import candidates, triton
from tclab.capturing.read.units import Unit
from tclab.capturing.result import Capture
from tclab.capturing.target import (
    choices,
    constants,
    decisions,
    gaps,
    inductor,
    refusals,
    stand_in,
    tracing,
)
from tclab.capturing.target.errors import mixes_devices, plain_errors, within
from tclab.capturing.target.timing import alternatives, measured, timed
from tclab.capturing.target.timing.ways import GraphWays, Ways, Wrappers
from tclab.capturing.torch_private import check, compiler
from tclab.capturing.trace.events import Trace
from tclab.errors import CaptureError
from tclab.model import Candidates
from tclab.targets import Target, TargetError, get

#: Arguments of one call, and those by name.
Call = tuple[tuple[object, ...], Mapping[str, object]]

_OPTIONS = {"mode", "options", "dynamic", "fullgraph"}


@dataclass(frozen=True)
class Known:
    """What is known of a compile for a target: the output code as Inductor wrote it; what was
    decided that PyTorch would have asked the device; what the GPU may choose instead, graph by
    graph; and what was refused.
    """

    wrappers: Wrappers
    decisions: tuple[decisions.Decision, ...] = ()
    ways: tuple[GraphWays, ...] = ()
    gaps: tuple[TargetError, ...] = ()


class TargetCapture(Capture):
    """A Capture for a GPU that is not there. `result` is what eager PyTorch gave on the CPU."""

    def __init__(
        self,
        trace: Trace,
        results: tuple[object, ...],
        target: Target,
        known: Known,
        most_lines: int | None = None,
    ) -> None:
        super().__init__(trace, results, most_lines)
        self.target, self.known = target, known
        self.decisions = known.decisions  #: what PyTorch would have asked the device
        self.gaps = known.gaps
        self.wrapper_code = known.wrappers  #: the output code as Inductor wrote it, not scrubbed
        self.timed = tuple(dict.fromkeys(q for graph in known.ways for q in graph.questions))

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """What Inductor compiled of each graph; after it, what else may come of that graph."""
        return alternatives.units(super().units, self.known.ways)

    @property
    def result(self) -> Any:
        """What the last call returned, computed on the CPU."""
        if not self.results:
            raise CaptureError(
                "Capture.result",
                f"the function calls a kernel that only the {self.target.device} can run",
                "look at the stages; code after its graph was not reached",
            )
        return self.results[-1]

    def compile_candidates(self) -> Candidates:
        """What the GPU would choose among: every configuration of the kernels that have several,
        compiled, with its registers, shared memory and occupancy.
        """
        kernels = {kernel.name: kernel for kernel in self.compile_kernels()}
        with stand_in.standing_in(self.target):
            return candidates.candidates(kernels.values())

    def _compile_units(self) -> None:
        compiler = triton.Compiler(f"{self.target.device} (sm_{self.target.arch})")
        with stand_in.standing_in(self.target):
            for unit in self.units:
                unit.compiled = compiler.kernels(self._short_triton(unit))


def capture_for(
    fn: Callable[..., Any],
    target: str | Target,
    calls: Sequence[Call],
    *,
    backward: bool = False,
    options: inductor.Options | None = None,
    assume: Mapping[str, str] | None = None,
    most_lines: int | None = None,
) -> TargetCapture:
    """Compile `fn` for `target` as each of `calls` asks, and run it on the CPU.

    What the GPU would decide by timing is as it was measured on such a GPU; where that was not
    done it is compiled both ways, unless `assume` fixes it: ``{"pad": "no"}`` for all products,
    ``{"pad: mm of [8, 30]": "yes"}`` for those whose question says so. The process is afterwards
    as it was, also after an error. Raises TargetError for an unknown target and for what cannot be
    known without the GPU.
    """
    device, options, fixed = get(target), dict(options or {}), timed.checked(assume)
    check.require()
    check.require_targets()
    patches = _checked_options(options)
    request = _TargetRequest(fn, device, calls, backward, options, patches, fixed, most_lines)
    try:
        return _as_moved(request)
    except Exception as error:
        if not mixes_devices(error):
            raise
    return _captured(request, numbers_too=True)  # a GPU would not take it: all is on the target


def _as_moved(request: _TargetRequest) -> TargetCapture:
    """The capture with that on the CPU which the function brings to the target itself."""
    stay: frozenset[int] = frozenset()
    while True:
        try:
            return _captured(request, stay=stay)
        except Exception as error:
            if made := within(error, inductor.MadeOnCPU):
                stay = made.factories
            elif stay and mixes_devices(error):
                break
            else:
                raise
    return _captured(request, stay=None)


@dataclass(frozen=True)
class _TargetRequest:
    fn: Callable[..., Any]
    device: Target
    calls: Sequence[Call]
    backward: bool
    options: inductor.Options
    patches: inductor.Options
    fixed: Mapping[str, str]
    most_lines: int | None


def _captured(
    request: _TargetRequest, *, numbers_too: bool = False, stay: frozenset[int] | None = None
) -> TargetCapture:
    """`stay` are factories that make tensors of the CPU; None where all is to be made on the
    target, whatever the function moves.
    """
    fn, options, wrappers = request.fn, request.options, Wrappers()
    results: list[object] = []
    whole = request.backward or inductor.calls_backward(fn)
    kept = stay or frozenset()
    for_device = compiling_for(request.device, wrappers, whole, numbers_too, kept)
    with fresh(fn), compiler.observable(), listen() as trace, for_device:
        ways = Ways(trace, wrappers, request.fixed, measured.of(request.device))
        compiled = torch.compile(
            fn,
            backend=inductor.backend(request.patches, ways, stay),
            dynamic=options.get("dynamic"),
            fullgraph=options.get("fullgraph", False),
        )
        with (
            decisions.collecting() as decided,
            gaps.collecting() as refused,
            refusals.raising_the_first(),
            plain_errors(),
            suppress(inductor.NoResult),
        ):
            for args, kwargs in request.calls:
                results.append(compiled(*args, **kwargs))
                if request.backward:
                    run_backward(results[-1])
    if refused and not wrappers:
        raise refused[0]
    known = Known(wrappers, tuple(decided), tuple(ways.graphs), tuple(refused))
    return TargetCapture(trace, tuple(results), request.device, known, request.most_lines)


@contextmanager
def compiling_for(
    target: Target,
    wrappers: Wrappers,
    backward: bool,
    numbers_too: bool = False,
    stay: frozenset[int] = frozenset(),
) -> Iterator[None]:
    """Everything that makes a compile one for the target."""
    with ExitStack() as stack:
        stack.enter_context(stand_in.standing_in(target))
        stack.enter_context(tracing.on_target(numbers_too=numbers_too, stay=stay))
        stack.enter_context(constants.folded_on_cpu())
        stack.enter_context(choices.decided(target))
        stack.enter_context(inductor.stop_after_code(wrappers))
        stack.enter_context(inductor.settings(backward))
        yield


def _checked_options(options: inductor.Options) -> inductor.Options:
    if options.get("backend", "inductor") != "inductor":
        raise CaptureError(
            "tclab.capture",
            f"target= with backend={options['backend']!r}",
            "targets are Inductor's: leave backend out",
        )
    if unknown := set(options) - _OPTIONS - {"backend"}:
        raise CaptureError(
            "tclab.capture",
            f"target= with {', '.join(sorted(unknown))}",
            f"known: {', '.join(sorted(_OPTIONS))}",
        )
    patches = inductor.config_patches(options)
    choices.check_settings(patches)
    return patches
