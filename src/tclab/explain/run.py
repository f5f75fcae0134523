"""Compile and call what is explained, for this machine or for a target."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tclab.errors import CaptureError, ExplainError, NoGradient, TclabError, UnsupportedTorch
from tclab.explain import failures, steps
from tclab.explain.load import last_line
from tclab.explain.request import ExplainRequest
from tclab.explain.seeds import seeded
from tclab.explain.steps import OnStep, Step
from tclab.explain.subject import Subject
from tclab.targets import TargetError

if TYPE_CHECKING:
    from tclab.capturing import Capture


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


def import_torch() -> None:
    """Import PyTorch: its loggers are there from now on. UnsupportedTorch where that fails."""
    try:
        importlib.import_module("torch")
    except (Exception, SystemExit) as error:
        step = "python -c 'import torch' has to work: install what it says is missing"
        cause = f"PyTorch cannot be imported: {last_line(error)}"
        raise UnsupportedTorch("tclab explain", cause, step) from error


@dataclass(frozen=True)
class Compilation:
    """Every call of one subject, compiled as the request says; `on_step` is called with what
    begins.
    """

    subject: Subject
    request: ExplainRequest
    on_step: OnStep

    def run(self) -> Outcome:
        """The capture of every call, for this machine or for a target. Where the target refuses,
        the graphs, breaks and guards are those of a compile here that stops after Dynamo.
        """
        return self._on_this_machine() if self.request.target is None else self._for_target()

    def _on_this_machine(self) -> Outcome:
        from tclab.capturing.machine_code.cpp import begun_ahead

        with begun_ahead(self.request.most_lines):
            capture = self._captured(**self.request.options)
        return self._with_machine_code(capture)

    def _for_target(self) -> Outcome:
        from tclab.capturing.target.timing import timed

        request = self.request
        timed.checked(request.assume)
        try:
            how = {"target": request.target, "assume": request.assume}
            capture = self._captured(**how, **request.options)
        except (TargetError, CaptureError) as refusal:
            return Outcome(self._without_target(refusal), refusal)
        return self._with_machine_code(capture)

    def _without_target(self, refusal: TclabError) -> Capture:
        """Dynamo's part alone, which no GPU changes; the refusal itself if this machine cannot."""
        try:
            return self._dynamo_only()
        except ExplainError:
            raise refusal from None

    def _dynamo_only(self, **changed: Any) -> Capture:
        """Graphs, breaks and guards: a compile that ends before any backend."""
        options = {
            name: value
            for name, value in self.request.options.items()
            if name in ("dynamic", "fullgraph")
        }
        return self._captured(backend="eager", **(options | changed))

    def _with_machine_code(self, capture: Capture) -> Outcome:
        """The capture with its kernels compiled. One that Triton cannot compile leaves the chains
        without machine code, and its error is the refusal.
        """
        self.on_step(Step("taking the kernels down to instructions"))
        try:
            capture.compile_kernels()
        except CaptureError as error:
            return Outcome(capture, error)
        return Outcome(capture)

    def _captured(self, **options: Any) -> Capture:
        from tclab.capturing import capture

        subject, request = self.subject, self.request
        calls = [(call.args, dict(call.kwargs)) for call in subject.calls()]
        try:
            with _quiet(), seeded(), steps.reported(self.on_step, subject.title):
                compiled = capture(subject.callable, backward=request.backward, **options)
                return compiled.calls(calls, most_lines=request.most_lines)
        except NoGradient:
            raise failures.no_gradient(subject) from None
        except TclabError:
            raise
        except (Exception, SystemExit) as error:
            raise self._failure(error, options) from error

    def _failure(self, error: BaseException, options: dict[str, Any]) -> TclabError:
        """What to say of an error: the function's own, if it raises without torch.compile too; a
        graph break that ``fullgraph=True`` forbids, at the user's line; else the compiler's.
        """
        subject = self.subject
        self.on_step(Step(f"calling {subject.title} without the compiler"))
        with _quiet():
            if own := failures.eager_error(subject, self.request.backward):
                return failures.of_the_function(subject, own)
        if options.get("fullgraph") and (broken := self._broken_graph()):
            return broken
        return failures.of_the_compiler(subject, error, options.get("target"))

    def _broken_graph(self) -> ExplainError | None:
        """The first graph break, found by a compile without ``fullgraph``; None: none."""
        with contextlib.suppress(TclabError):
            breaks = self._dynamo_only(fullgraph=False).breaks
            return failures.of_fullgraph(self.subject, breaks) if breaks else None
        return None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What the user's code prints goes to stderr: stdout is for the report."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
