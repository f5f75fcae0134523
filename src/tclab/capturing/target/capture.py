"""`capture(fn, target="h200")`: the stages of a compile on a named GPU, without that GPU.

The graphs, IR, wrapper and kernels are exactly those that the same PyTorch makes on the device. If
the code of an operator cannot be known, a TargetError names the operator and says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from tclab.capturing.backward import run_backward
from tclab.capturing.fresh import hide_earlier_compiles
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
from tclab.capturing.target.errors import find_wrapped, mixes_devices, raising_plain_errors
from tclab.capturing.target.gaps import HostOperator
from tclab.capturing.target.timing import alternatives, measured, timed
from tclab.capturing.target.timing.variants import GraphAlternatives, GraphCompiler, Wrappers
from tclab.capturing.torch_private import check, compiler, switches
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.errors import CaptureError
from tclab.model import Candidates
from tclab.targets import Target, TargetError, get

#: The positional and the keyword arguments of one call.
Call = tuple[tuple[object, ...], Mapping[str, object]]

_OPTIONS = {"mode", "options", "dynamic", "fullgraph"}


@dataclass(frozen=True)
class TargetOutcome:
    """The outcome of a compile for a target.

    `wrappers` is the output code as Inductor wrote it; `decisions` are the choices for which
    PyTorch asks a real device. `alternatives` has the code for the other answers, for each graph
    with choices that are open or were measured. `gaps` are the refused parts. `on_host` are the
    operators that run on the CPU in graphs that have a C++ kernel.
    """

    wrappers: Wrappers
    decisions: tuple[decisions.Decision, ...] = ()
    alternatives: tuple[GraphAlternatives, ...] = ()
    gaps: tuple[TargetError, ...] = ()
    on_host: tuple[HostOperator, ...] = ()


class TargetCapture(Capture):
    """A Capture for a GPU that is not there. Eager PyTorch computes `result` on the CPU."""

    def __init__(
        self,
        trace: Trace,
        results: tuple[object, ...],
        target: Target,
        outcome: TargetOutcome,
        most_lines: int | None = None,
    ) -> None:
        super().__init__(trace, results, most_lines)
        self.target, self.outcome = target, outcome
        self.decisions = outcome.decisions  #: choices for which PyTorch asks a real device
        self.gaps = outcome.gaps
        self.on_host = tuple((each.operator, each.place) for each in outcome.on_host)
        self.wrapper_code = outcome.wrappers  #: the output code as Inductor wrote it, not scrubbed
        self.timed = tuple(
            dict.fromkeys(q for graph in outcome.alternatives for q in graph.untimed_questions)
        )

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Inductor's unit of each graph, followed by the units with the kernels that the GPU may
        choose instead.
        """
        return alternatives.units_with_alternatives(super().units, self.outcome.alternatives)

    @property
    def result(self) -> Any:
        """The value that the last call returned, computed on the CPU."""
        if not self.results:
            raise CaptureError(
                "Capture.result",
                f"the function calls a kernel that only the {self.target.title} can run",
                "look at the stages; code after its graph was not reached",
            )
        return self.results[-1]

    def compile_candidates(self) -> Candidates:
        """Compile all configurations of each kernel that has several; a GPU would choose one of
        them. Return their registers, shared memory (bytes) and occupancy.
        """
        kernels = {kernel.name: kernel for kernel in self.compile_kernels()}
        with stand_in.fake_gpu(self.target):
            return candidates.compile_candidates(kernels.values())

    def _compile_units(self) -> None:
        architecture = self.target.gfx or f"sm_{self.target.arch}"
        compiler = triton.Compiler(f"{self.target.device} ({architecture})")
        with stand_in.fake_gpu(self.target):
            for unit in self.units:
                unit.compiled = compiler.compile_kernels(self._short_triton_sources(unit))


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
    """Call `fn` with each of `calls`. It is compiled for `target`; the CPU computes the results.

    A choice that the GPU would make by timing gets the answer measured on such a GPU, or else the
    likely answer; kernels that depend on it are marked. `assume` overrides the answer: ``{"pad":
    "yes"}`` for all products, ``{"pad: mm of [8, 30]": "yes"}`` for the products whose question
    contains this text. The answer ``both`` compiles the code for either answer. All patches of
    PyTorch are undone at the end, also after an error. Raises TargetError for an unknown target,
    for one that Triton's tools do not know, and for code that cannot be known without the GPU;
    BadRequest if `assume` names a product that there is not.
    """
    device, options, fixed = get(target), dict(options or {}), timed.check_assumptions(assume)
    _check_vendor(device)
    check.require()
    check.require_targets()
    triton.check_target(device)
    patches = _check_options(options)
    request = _TargetRequest(fn, device, calls, backward, options, patches, fixed, most_lines)
    try:
        return _capture_as_moved(request)
    except Exception as error:
        if not mixes_devices(error):
            raise
    # The call would raise on the GPU, too, so trace all tensors on the target.
    return _capture_once(request, move_numbers=True)


def _check_vendor(device: Target) -> None:
    """Raise TargetError unless PyTorch looks built for the vendor of the device."""
    if bool(device.gfx) != (torch.version.hip is not None):
        raise TargetError(
            f"target {device.name!r}",
            f"Inductor writes for another vendor here: torch.version.hip is {torch.version.hip}",
            "use tclab explain, whose process sets it before it imports Inductor",
        )


def _capture_as_moved(request: _TargetRequest) -> TargetCapture:
    """Capture a function that itself moves tensors to the target. The tensors that it moves are
    made on the CPU.
    """
    cpu_factories: frozenset[int] = frozenset()
    while True:
        try:
            return _capture_once(request, cpu_factories=cpu_factories)
        except Exception as error:
            if needed := find_wrapped(error, inductor.NeedsCPUFactories):
                cpu_factories = needed.factories
            elif cpu_factories and mixes_devices(error):
                break
            else:
                raise
    return _capture_once(request, cpu_factories=None)


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


def _capture_once(
    request: _TargetRequest,
    *,
    move_numbers: bool = False,
    cpu_factories: frozenset[int] | None = None,
) -> TargetCapture:
    """Compile and run all calls once.

    `cpu_factories` are the numbers of the factory calls (torch.zeros, …) that make their tensor on
    the CPU; all other factory calls without ``device=`` make it on the target. None is like an
    empty set, but then the backend accepts tensors that the function itself moves to the target.
    """
    fn, options, wrappers = request.fn, request.options, Wrappers()
    results: list[object] = []
    with_backward = request.backward or inductor.calls_backward(fn)
    numbers = cpu_factories or frozenset()
    compiling = compiling_for(request.device, wrappers, with_backward, move_numbers, numbers)
    with (
        hide_earlier_compiles(fn),
        compiler.make_stages_observable(),
        listen() as trace,
        compiling,
    ):
        graph_compiler = GraphCompiler(
            trace, wrappers, request.fixed, measured.measurements_for(request.device)
        )
        compiled = torch.compile(
            fn,
            backend=inductor.make_backend(request.patches, graph_compiler, cpu_factories, trace),
            dynamic=options.get("dynamic"),
            fullgraph=options.get("fullgraph", False),
        )
        with (
            decisions.collecting_decisions() as noted_decisions,
            gaps.collecting_gaps() as noted_gaps,
            gaps.collecting_host_operators() as on_host,
            refusals.raising_first_error(),
            raising_plain_errors(),
            suppress(inductor.NoResult),
        ):
            for args, kwargs in request.calls:
                results.append(compiled(*args, **kwargs))
                if request.backward:
                    run_backward(results[-1])
                trace.add(names.CALLED, None, "", (None, None))
        switches.require_compiled(trace)
    if noted_gaps and not wrappers:
        raise noted_gaps[0]
    if not noted_gaps:  # a graph that was refused may have the product
        timed.require_products(request.fixed, graph_compiler.asked)
    outcome = TargetOutcome(
        wrappers,
        tuple(noted_decisions),
        tuple(graph_compiler.graphs),
        tuple(noted_gaps),
        tuple(on_host),
    )
    return TargetCapture(trace, tuple(results), request.device, outcome, request.most_lines)


@contextmanager
def compiling_for(
    target: Target,
    wrappers: Wrappers,
    backward: bool,
    move_numbers: bool = False,
    cpu_factories: frozenset[int] = frozenset(),
) -> Iterator[None]:
    """Compile for the target within the block; `wrappers` collects each graph's output code."""
    with ExitStack() as stack:
        stack.enter_context(stand_in.fake_gpu(target))
        stack.enter_context(
            tracing.tracing_on_target(move_numbers=move_numbers, cpu_factories=cpu_factories)
        )
        stack.enter_context(constants.folding_on_cpu())
        stack.enter_context(choices.deciding_for(target, backward))
        stack.enter_context(inductor.stopping_after_code(wrappers))
        stack.enter_context(inductor.patching_settings(backward))
        yield


def _check_options(options: inductor.Options) -> inductor.Options:
    """Return Inductor's settings for these options. Raises CaptureError for options that a target
    lacks.
    """
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
