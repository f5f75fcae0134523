"""Compile and call what is explained, for this machine or for a target."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tclab.errors import CaptureError, ExplainError, TclabError, UnsupportedTorch
from tclab.explain import failures, steps
from tclab.explain.seeds import seeded
from tclab.explain.steps import OnStep
from tclab.explain.subject import Subject
from tclab.targets import Target, TargetError, get

if TYPE_CHECKING:
    from tclab.capturing import Capture


@dataclass(frozen=True)
class Outcome:
    """A capture, and what was refused, if something was: then the capture has graphs only, or
    all but machine code.
    """

    capture: Capture
    refusal: TclabError | None = None


@dataclass(frozen=True)
class Way:
    """How to compile: for which target (None: this machine), with a backward or not, with which
    options of torch.compile; what the GPU would time and `assume` says; `on_step` is told what
    goes on; `most_lines` a kernel may have whose instructions are wanted (None: any).
    """

    target: Target | None
    backward: bool
    options: dict[str, Any]
    on_step: OnStep = steps.silent
    assume: Mapping[str, str] = field(default_factory=dict)
    most_lines: int | None = None


def require_torch() -> None:
    """UnsupportedTorch where there is no PyTorch."""
    if importlib.util.find_spec("torch") is None:
        raise UnsupportedTorch("tclab explain", "PyTorch is not installed", "pip install torch")


def target_named(name: str | None) -> Target | None:
    """The target of this name. TargetError suggests the nearest; UnsupportedTorch: no Triton."""
    if name is None:
        return None
    found = get(name)
    if importlib.util.find_spec("triton") is None:
        raise UnsupportedTorch(
            f"--target {name}", "Triton is not installed, and it compiles the kernels",
            "pip install the Triton that pairs with this PyTorch; or leave --target out",
        )  # fmt: skip
    return found


def run(subject: Subject, way: Way) -> Outcome:
    """The capture of every call, for this machine or for a target. Where the target refuses, the
    graphs, breaks and guards are those of a compile here that stops after Dynamo.
    """
    if way.target is None:
        from tclab.capturing.machine_code.cpp import begun_ahead

        with begun_ahead(way.most_lines):
            capture = _captured(subject, way, **way.options)
        return _with_machine_code(capture, way)
    _check_assumed(way)
    try:
        for_target = {"target": way.target, "assume": way.assume}
        capture = _captured(subject, way, **for_target, **way.options)
    except (TargetError, CaptureError) as refusal:
        return Outcome(_without_target(subject, way, refusal), refusal)
    return _with_machine_code(capture, way)


def _check_assumed(way: Way) -> None:
    """TargetError for what a target does not choose so."""
    from tclab.capturing.target.timing import timed

    timed.checked(way.assume)


def _without_target(subject: Subject, way: Way, refusal: TclabError) -> Capture:
    """Dynamo's part alone, which no GPU changes; the refusal itself if this machine cannot."""
    try:
        return _dynamo_only(subject, way)
    except ExplainError:
        raise refusal from None


def _dynamo_only(subject: Subject, way: Way, **changed: Any) -> Capture:
    """Graphs, breaks and guards: a compile that ends before any backend."""
    options = {name: way.options[name] for name in way.options if name in ("dynamic", "fullgraph")}
    return _captured(subject, way, backend="eager", **(options | changed))


def _with_machine_code(capture: Capture, way: Way) -> Outcome:
    """The capture with its kernels compiled. One that Triton cannot compile leaves the chains
    without machine code, and is told.
    """
    way.on_step("taking the kernels down to instructions")
    capture.most_lines = way.most_lines
    try:
        capture.compile_kernels()
    except CaptureError as error:
        return Outcome(capture, error)
    return Outcome(capture)


def _captured(subject: Subject, way: Way, **options: Any) -> Capture:
    from tclab.capturing import capture

    calls = subject.calls()
    try:
        with _quiet(), seeded(), steps.told(way.on_step, subject.title):
            request = capture(subject.callable, backward=way.backward, **options)
            done: Capture = request.calls([(call.args, dict(call.kwargs)) for call in calls])
            return done
    except TclabError as error:
        if failures.NO_GRAD in str(error):
            raise failures.no_gradient(subject) from None
        raise
    except (Exception, SystemExit) as error:
        raise _failed(subject, way, error, options) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What the user's code prints goes to stderr: stdout is for the report."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def _failed(
    subject: Subject, way: Way, error: BaseException, options: dict[str, Any]
) -> TclabError:
    """What to say of an error: the function's own, if it raises without torch.compile too; a graph
    break that ``fullgraph=True`` forbids, at the user's line; else the compiler's.
    """
    way.on_step(f"calling {subject.title} without the compiler")
    with _quiet():
        if own := failures.eager_error(subject, way.backward):
            return failures.of_the_function(subject, own)
    if options.get("fullgraph") and (broken := _broken_graph(subject, way)):
        return broken
    return failures.of_the_compiler(subject, error, options.get("target"))


def _broken_graph(subject: Subject, way: Way) -> ExplainError | None:
    """The first graph break, which a compile without ``fullgraph`` finds; None if there is none."""
    with contextlib.suppress(TclabError):
        found = _dynamo_only(subject, way, fullgraph=False).breaks
        return failures.of_fullgraph(subject, found) if found else None
    return None
