"""Compile and call what is explained; every way in which that can fail, as one message."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tclab.errors import CaptureError, ExplainError, TclabError, UnsupportedTorch
from tclab.explain.inputs import Call
from tclab.explain.load import place_of, said
from tclab.explain.seeds import seeded
from tclab.explain.subject import Subject
from tclab.targets import Target, TargetError, get

if TYPE_CHECKING:
    from tclab.capturing import Capture

_NO_GRAD = "nothing the function returned requires grad"
_LEAVE = "leave --backward out"
_HINTS = {
    "InvalidCxxCompiler": "install a C++ compiler (Debian: apt-get install g++), or name it in CXX",
    "No working C++ compiler": "install a C++ compiler (Debian: apt-get install g++)",
    "FailOnRecompileLimitHit": "see the recompile reasons with fewer calls in example_inputs()",
}


@dataclass(frozen=True)
class Outcome:
    """A capture, and what was refused, if something was: then the capture has graphs only, or
    all but machine code.
    """

    capture: Capture
    refusal: TclabError | None = None


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


def run(subject: Subject, target: Target | None, *, backward: bool, **options: Any) -> Outcome:
    """The capture of every call, for this machine or for a target. Where the target refuses, the
    graphs, breaks and guards are those of a compile here that stops after Dynamo.
    """
    if target is None:
        return _with_machine_code(_captured(subject, backward, **options))
    try:
        capture = _captured(subject, backward, target=target, **options)
    except (TargetError, CaptureError) as refusal:
        dynamo = {name: options[name] for name in options if name in ("dynamic", "fullgraph")}
        return Outcome(_without_target(subject, backward, refusal, dynamo), refusal)
    return _with_machine_code(capture)


def _without_target(
    subject: Subject, backward: bool, refusal: TclabError, options: dict[str, Any]
) -> Capture:
    """Dynamo's part alone, which no GPU changes; the refusal itself if this machine cannot."""
    try:
        return _captured(subject, backward, backend="eager", **options)
    except ExplainError:
        raise refusal from None


def _with_machine_code(capture: Capture) -> Outcome:
    """The capture with its kernels compiled. One that Triton cannot compile is told as a refusal,
    which leaves the chains without machine code.
    """
    try:
        capture.compile_kernels()
    except CaptureError as error:
        return Outcome(capture, error)
    return Outcome(capture)


def _captured(subject: Subject, backward: bool, **options: Any) -> Capture:
    from tclab.capturing import capture

    calls = subject.calls()
    try:
        with _quiet(), seeded():
            request = capture(subject.callable, backward=backward, **options)
            done: Capture = request._run([(call.args, dict(call.kwargs)) for call in calls])
            return done
    except TclabError as error:
        if _NO_GRAD in str(error):
            raise _no_gradient(subject) from None
        raise
    except (Exception, SystemExit) as error:
        raise _failed(subject, error, backward, options.get("target")) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What the user's code prints goes to stderr: stdout is for the report."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


# --------------------------------------------------------------------------- failures


def _failed(subject: Subject, error: BaseException, backward: bool,
            target: Target | None) -> TclabError:  # fmt: skip
    """The error of the function itself, where it raises without torch.compile too; else the
    compiler's.
    """
    if own := _eager_error(subject, backward):
        return ExplainError(
            place_of(own) or subject.place, f"{subject.title} raised: {said(own)}",
            f"it raises without torch.compile too: correct the line, or the inputs "
            f"({inputs_of(subject)})",
        )  # fmt: skip
    place = place_of(error) or subject.place
    if target is not None:
        cause = f"the compile for {target.name} failed: {said(error)}"
        return TargetError(place, cause, "whether the GPU's own does is not known: try it there")
    text = f"{type(error).__name__}: {error}"
    step = next((hint for part, hint in _HINTS.items() if part in text), "")
    return ExplainError(
        place, f"it runs, but torch.compile fails on it: {said(error)}",
        step or "search PyTorch's issues for this message; TORCHDYNAMO_VERBOSE=1 says more",
    )  # fmt: skip


def inputs_of(subject: Subject) -> str:
    """What the calls give, in few words."""
    from tclab.explain.inputs import describe

    return "; ".join(describe(call) or "nothing" for call in subject.calls()[:4])


def _eager_error(subject: Subject, backward: bool) -> BaseException | None:
    """What the calls raise without torch.compile; None if they do not."""
    from tclab.capturing.backward import run_backward

    try:
        with _quiet(), seeded():
            for call in subject.calls():
                result = subject.callable(*call.args, **call.kwargs)
                if backward:
                    run_backward(result)
    except (Exception, SystemExit) as error:
        return error
    return None


def _no_gradient(subject: Subject) -> ExplainError:
    calls = subject.calls()
    with _quiet():
        results = [subject.callable(*call.args, **call.kwargs) for call in calls]
    cause, step = _why_no_gradient(subject, calls, results)
    return ExplainError(subject.place, f"--backward: there is no backward: {cause}", step)


def _why_no_gradient(subject: Subject, calls: list[Call], results: list[Any]) -> tuple[str, str]:
    """Cause and next step, for a function whose results do not require grad."""
    import torch

    leaves = list(_leaves(results))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if not tensors:
        kinds = ", ".join(dict.fromkeys(type(leaf).__name__ for leaf in leaves)) or "nothing"
        return f"it returns no tensor ({kinds})", f"return the loss; or {_LEAVE}"
    if not any(t.is_floating_point() or t.is_complex() for t in tensors):
        dtypes = ", ".join(dict.fromkeys(str(t.dtype) for t in tensors))
        return f"it returns {dtypes}, and only floating-point tensors have gradients", _LEAVE
    arguments = _leaves([(call.args, dict(call.kwargs)) for call in calls])
    given = [t for t in arguments if isinstance(t, torch.Tensor)]
    if not any(t.requires_grad for t in [*given, *subject.parameters]):
        step = "in example_inputs(), make one with requires_grad=True; or leave --backward out"
        return "no input and no parameter requires grad", step
    return "its results are detached (torch.no_grad, .detach() or integers on the way)", _LEAVE


def _leaves(tree: Any) -> Iterator[Any]:
    """What is in nested lists, tuples and dictionaries (a model's output is one of these)."""
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        for value in tree:
            yield from _leaves(value)
    else:
        yield tree
