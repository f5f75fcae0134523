"""Compile and call the subject of an explanation, for this machine or for a target."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tclab.errors import CaptureError, ExplainError, NoGradient, TclabError, UnsupportedTorch
from tclab.explain import failures, load, own_agreement, own_compiles, steps
from tclab.explain.load import find_user_line, last_line
from tclab.explain.request import ExplainRequest
from tclab.explain.seeds import seeded
from tclab.explain.steps import OnStep, Step
from tclab.explain.subject import Subject
from tclab.explain.trials import failing
from tclab.explain.trials.remedy import TrialResult
from tclab.explain.trials.runner import TrialRunner, open_runner
from tclab.model import Agreement
from tclab.targets import TargetError

if TYPE_CHECKING:
    from tclab.capturing import Capture
    from tclab.capturing.agreement import Comparison
    from tclab.model import OwnCompiles

#: The positional and the keyword arguments of one call.
_Call = tuple[tuple[object, ...], dict[str, object]]


_ASK = (
    "the numbers of {0} cannot be known here; --compare holds this machine's own compile to eager"
)
_AS_IT_IS = "it compiles its parts itself, and is in no file that can be imported anew"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a compilation: the capture, and the `refusal` if the target or Triton refused
    something. A capture with a refusal has only graphs, or everything but machine code. `agreement`
    is the comparison of the results with eager's. `own` describes the subject's own compiles if it
    ran unchanged.
    """

    capture: Capture
    refusal: TclabError | None = None
    agreement: Agreement = field(default_factory=Agreement)
    own: OwnCompiles | None = None


def require_torch() -> None:
    """Raise UnsupportedTorch if PyTorch is not installed."""
    if importlib.util.find_spec("torch") is None:
        raise UnsupportedTorch("tclab explain", "PyTorch is not installed", "pip install torch")


def import_torch() -> None:
    """Import PyTorch, which also creates its loggers. Raises UnsupportedTorch if the import
    fails.
    """
    try:
        importlib.import_module("torch")
    except (Exception, SystemExit) as error:
        step = "python -c 'import torch' has to work: install what it says is missing"
        cause = f"PyTorch cannot be imported: {last_line(error)}"
        raise UnsupportedTorch("tclab explain", cause, step) from error


@dataclass(frozen=True)
class Compilation:
    """Compiles every call of one subject as the request says; calls `on_step` when a step
    begins.
    """

    subject: Subject
    request: ExplainRequest
    on_step: OnStep

    def run(self) -> Outcome:
        """Return the capture of every call, for this machine or for a target. If the target
        refuses, the graphs, breaks and guards come from a compile on this machine that stops after
        Dynamo.
        """
        if self.request.level == "dynamo":
            return Outcome(self._dynamo_only())
        return (
            self._run_on_this_machine() if self.request.target is None else self._run_for_target()
        )

    def _run_on_this_machine(self) -> Outcome:
        from tclab.capturing.machine_code.cpp import assembling_ahead

        calls = self._make_calls()
        with assembling_ahead(self.request.most_lines):
            if self.subject.own and (outcome := self._capture_own_compiles(calls)):
                return outcome
            comparison = self._begin_comparison(calls)
            capture = self._capture(calls, comparison, **self.request.options)
            agreement = self._judge_agreement(comparison)
        return replace(self._compile_machine_code(capture), agreement=agreement)

    def _begin_comparison(self, calls: list[_Call]) -> Comparison | str:
        """Begin a comparison with eager; return the reason if the results cannot be compared."""
        from tclab.capturing.agreement import Comparison

        if self.request.compare is False:
            return "--no-compare"
        return Comparison.begin(self.subject.callable, calls, self.request.backward)

    def _judge_agreement(
        self,
        comparison: Comparison | str,
        *,
        cpu: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> Agreement:
        """Return the verdict on the results; with `cpu` the verdict on an extra compile for this
        machine. `options` are options of torch.compile, by default the request's.
        """
        options = self.request.options if options is None else options
        if isinstance(comparison, str):
            return Agreement(reason=comparison)
        self.on_step(Step(f"calling {self.subject.title} without the compiler"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the capture has issued the same warnings
            if cpu:
                return comparison.judge_new_compile(options)
            return comparison.agreement(options)

    def _capture_own_compiles(self, calls: list[_Call]) -> Outcome | None:
        """Capture the compiles that the subject itself makes; return None if its calls reach none
        of them.
        """
        comparison = self._own_comparison()
        capture = self._capture(calls, comparison, as_it_is=True)
        subject = self.subject.callable
        own = own_compiles.summarize(capture, subject, self.subject.own, self._first_call)
        is_compiled = own_compiles.is_compiled(subject)
        if own.cause == own_compiles.NONE_REACHED and not is_compiled:
            return None
        agreement = self._judge_agreement(comparison, options={})
        return replace(self._compile_machine_code(capture), own=own, agreement=agreement)

    def _own_comparison(self) -> Comparison | str:
        """Begin a comparison with the same file without its own torch.compile, which is imported
        anew. If there is no file, return the reason.
        """
        if self.request.compare is False:
            return "--no-compare"
        if not load.is_file(self.request.spec):
            return _AS_IT_IS
        return own_agreement.begin(self.request, self.subject)

    def _first_call(self) -> object:
        call = self.subject.calls()[0]
        return self.subject.callable(*call.args, **call.kwargs)

    def _run_for_target(self) -> Outcome:
        from tclab.capturing.target.timing import timed

        request = self.request
        timed.check_assumptions(request.assume)
        agreement = self._agreement_of_the_cpu()
        try:
            how: dict[str, Any] = {"target": request.target, "assume": request.assume}
            capture = self._capture(self._make_calls(), **how, **request.options)
        except (TargetError, CaptureError) as error:
            refusal: TclabError = error
        else:
            return replace(self._compile_machine_code(capture), agreement=agreement)
        return Outcome(self._run_without_target(refusal), refusal, agreement)

    def _agreement_of_the_cpu(self) -> Agreement:
        """Return the verdict on a compile for this machine, if the request asks for it. This
        compile takes as long as the compile for the target. The results of the GPU itself cannot be
        known on this machine.
        """
        if not self.request.compare:
            assert self.request.target is not None
            return Agreement(reason=_ASK.format(self.request.target.title))
        return self._judge_agreement(self._begin_comparison(self._make_calls()), cpu=True)

    def _run_without_target(self, refusal: TclabError) -> Capture:
        """Capture only Dynamo's part, which is the same for every GPU. If that also fails on this
        machine, raise its error if the compile for the target failed unexpectedly, and else the
        refusal.
        """
        try:
            return self._dynamo_only()
        except ExplainError as error:
            if isinstance(refusal, failures.FailedForTarget):
                raise error from None
            raise refusal from None

    def _dynamo_only(self, **changed: Any) -> Capture:
        """Capture graphs, breaks and guards by a compile that ends before any backend."""
        options = {
            name: value
            for name, value in self.request.options.items()
            if name in ("dynamic", "fullgraph")
        }
        return self._capture(self._make_calls(), backend="eager", **(options | changed))

    def _compile_machine_code(self, capture: Capture) -> Outcome:
        """Compile the capture's kernels. If Triton cannot compile one, the chains have no machine
        code, and its error is the refusal.
        """
        self.on_step(Step("taking the kernels down to instructions"))
        try:
            capture.compile_kernels()
        except CaptureError as error:
            return Outcome(capture, error)
        return Outcome(capture)

    def _make_calls(self) -> list[_Call]:
        return [(call.args, dict(call.kwargs)) for call in self.subject.calls()]

    def _capture(
        self, calls: list[_Call], comparison: Comparison | str = "", **options: Any
    ) -> Capture:
        from tclab.capturing import capture

        subject, request = self.subject, self.request
        callback = {} if isinstance(comparison, str) else {"on_result": comparison.add_result}
        try:
            with _redirecting_output(), seeded(), steps.reporting(self.on_step, subject.title):
                compiled = capture(subject.callable, backward=request.backward, **options)
                return compiled.capture_calls(calls, most_lines=request.most_lines, **callback)
        except NoGradient:
            raise failures.explain_missing_gradient(subject) from None
        except TclabError:
            raise
        except (Exception, SystemExit) as error:
            raise self._explain_failure(error, options) from error

    def _explain_failure(self, error: BaseException, options: dict[str, Any]) -> TclabError:
        """Return the error to raise: the function's own error if it also raises without
        torch.compile; or the graph break that ``fullgraph=True`` forbids, at the user's line; or
        else the compiler's error.
        """
        subject, request = self.subject, self.request
        self.on_step(Step(f"calling {subject.title} without the compiler"))
        with open_runner(request) as runner:
            alone = failing.run_uncompiled(runner) or self._eager_error_here(error)
            if alone.error:
                return failures.explain_function_error(subject, alone, runner)
            if options.get("fullgraph") and (broken := self._broken_graph(runner)):
                return broken
            if options.get("as_it_is"):
                return failures.explain_own_compile_error(subject, error, runner)
            self.on_step(Step("trying what may help"))
            return failures.explain_compiler_error(subject, error, options.get("target"), runner)

    def _eager_error_here(self, error: BaseException) -> TrialResult:
        """Call the function once more in this process, uncompiled, and return its error if it
        equals `error`. Another error does not count, because objects that the compile changed can
        cause it.
        """
        if self.subject.own:
            return TrialResult()
        with _redirecting_output():
            own = failures.eager_error(self.subject, self.request.backward)
        if own is None or last_line(own) not in str(error) + last_line(error):
            return TrialResult()
        return TrialResult(last_line(own), find_user_line(own))

    def _broken_graph(self, runner: TrialRunner) -> ExplainError | None:
        """Return the error for the first graph break of a compile without ``fullgraph``; None
        without a break.
        """
        with contextlib.suppress(TclabError):
            breaks = self._dynamo_only(fullgraph=False).breaks
            return (
                failures.explain_fullgraph_break(self.subject, breaks, runner) if breaks else None
            )
        return None


@contextlib.contextmanager
def _redirecting_output() -> Iterator[None]:
    """Redirect the output of the user's code to stderr, because stdout is for the report."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
