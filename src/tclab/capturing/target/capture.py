"""`capture(fn, target="h200")`: what a compile on a named GPU goes through, without that GPU.

Exact or refused: the graphs, IR, wrapper and kernels are those the same PyTorch makes on the
device, or a TargetError says which operator cannot be known and what to do.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import torch

from tclab import user_lines
from tclab.capturing.backward import run_backward
from tclab.capturing.fresh import fresh
from tclab.capturing.listen import listen
from tclab.capturing.machine_code import triton
from tclab.capturing.result import Capture
from tclab.capturing.target import (
    choices,
    constants,
    decisions,
    inductor,
    refusals,
    stand_in,
    timed,
    tracing,
)
from tclab.capturing.target.both_ways import BothWays, Variant, Wrappers
from tclab.capturing.torch_private import check, compiler
from tclab.capturing.trace.events import Trace
from tclab.errors import CaptureError, TclabError
from tclab.targets import Target, TargetError, get

#: Arguments of one call, and those by name.
Call = tuple[tuple[Any, ...], Mapping[str, Any]]

_OPTIONS = {"mode", "options", "dynamic", "fullgraph"}


class TargetCapture(Capture):
    """A Capture for a GPU that is not there. `result` is what eager PyTorch gave on the CPU."""

    def __init__(
        self,
        trace: Trace,
        results: tuple[object, ...],
        target: Target,
        wrappers: Wrappers,
        made: Iterable[decisions.Decision] = (),
        variants: Iterable[Variant] = (),
    ) -> None:
        super().__init__(trace, results)
        self.target = target
        self.decisions = tuple(made)  #: what PyTorch would have asked the device
        self.variants = tuple(variants)  #: what the GPU may choose instead, graph by graph
        self.wrapper_code = wrappers  #: the output code as Inductor wrote it, not scrubbed

    @property
    def result(self) -> Any:
        """What the last call returned, computed on the CPU."""
        if not self.results:
            raise CaptureError(
                "Capture.result",
                f"the function calls a kernel by name that only the {self.target.device} can run",
                "look at the stages; code after its graph was not reached",
            )
        return self.results[-1]

    def _compile_units(self) -> None:
        with stand_in.standing_in(self.target):
            for unit in self.units:
                unit.compiled = triton.for_target(unit.output.triton_sources(), self.target)


def capture_for(
    fn: Callable[..., Any],
    target: str | Target,
    calls: Sequence[Call],
    *,
    backward: bool = False,
    options: inductor.Options | None = None,
    assume: Mapping[str, str] | None = None,
) -> TargetCapture:
    """Compile `fn` for `target` as each of `calls` asks, and run it on the CPU.

    What the GPU would decide by timing is compiled both ways, unless `assume` fixes it:
    ``{"pad": "no"}``. The process is afterwards as it was, also after an error. Raises
    TargetError for an unknown target and for what cannot be known without the GPU.
    """
    device, options, fixed = get(target), dict(options or {}), timed.checked(assume)
    check.require()
    check.require_targets()
    patches = _checked_options(options)
    wrappers = Wrappers()
    results: list[object] = []
    whole = backward or inductor.calls_backward(fn)
    for_device = compiling_for(device, wrappers, whole)
    with fresh(fn), compiler.observable(), listen() as trace, for_device:
        both_ways = BothWays(trace, wrappers, fixed)
        compiled = torch.compile(
            fn,
            backend=inductor.backend(patches, both_ways),
            dynamic=options.get("dynamic"),
            fullgraph=options.get("fullgraph", False),
        )
        with (
            decisions.heard() as made,
            refusals.heard(),
            plain_errors(),
            suppress(inductor.NoResult),
        ):
            for args, kwargs in calls:
                results.append(compiled(*args, **kwargs))
                if backward:
                    run_backward(results[-1])
    return TargetCapture(trace, tuple(results), device, wrappers, made, both_ways.variants)


@contextmanager
def compiling_for(target: Target, wrappers: Wrappers, backward: bool) -> Iterator[None]:
    """Everything that makes a compile one for the target."""
    with ExitStack() as stack:
        stack.enter_context(stand_in.standing_in(target))
        stack.enter_context(tracing.on_target())
        stack.enter_context(constants.folded_on_cpu())
        stack.enter_context(choices.decided(target))
        stack.enter_context(inductor.stop_after_code(wrappers))
        stack.enter_context(inductor.settings(backward))
        yield


def _checked_options(options: inductor.Options) -> dict[str, Any]:
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


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise our own error where Dynamo wrapped it, and name code that needs the GPU itself."""
    try:
        yield
    except Exception as error:
        if own := _own(error):
            raise own from None
        if needs := _needs_device(error):
            raise needs from error
        raise


def _own(error: BaseException | None) -> TclabError | None:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, TclabError):
            return error
        inner = getattr(error, "inner_exception", None)
        error = inner or error.__cause__ or error.__context__
    return None


_NO_DEVICE = (
    "not compiled with CUDA",
    "Found no NVIDIA driver",
    "not linked with support for cuda",
    "from the 'CUDA' backend",
    "CUDA driver version is insufficient",
    "code for a target cannot run here",
)


def _needs_device(error: BaseException) -> TargetError | None:
    if not any(text in str(error) for text in _NO_DEVICE):
        return None
    frames = traceback.extract_tb(error.__traceback__)
    lines = user_lines.users(frames, lambda frame: frame.filename)
    place = "the function"
    for line in lines[-1:]:
        place = f"{os.path.basename(line.filename)}:{line.lineno}"
    first = str(error).splitlines()[0]
    return TargetError(
        place,
        f"this line wants the GPU itself ({first[:120]})",
        "keep it inside one graph (fullgraph=True shows why it is not), or move it out of the "
        "function",
    )
