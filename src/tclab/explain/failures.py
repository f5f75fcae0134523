"""Turn each way in which the compile of a user's function can fail into one error."""

from __future__ import annotations

import re
import signal
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tclab.compare import fixes
from tclab.errors import ExplainError, TclabError
from tclab.explain.inputs import Call, describe
from tclab.explain.load import causes, code_at, find_user_line, last_line
from tclab.explain.seeds import seeded
from tclab.explain.subject import Subject
from tclab.explain.trials import breaks as hints
from tclab.explain.trials import failing
from tclab.model import SourceLine
from tclab.system import files, machine
from tclab.targets import Target, TargetError
from tclab.text import user_lines
from tclab.text.printed_stacks import read_frames
from tclab.text.scrub import scrub

if TYPE_CHECKING:
    from tclab.explain.trials.remedy import TrialResult
    from tclab.explain.trials.runner import TrialRunner
    from tclab.model import Breaks

_LEAVE = "leave --backward out"
_HINTS = machine.CXX_STEPS | {
    "FailOnRecompileLimitHit": "see the recompile reasons with fewer calls in example_inputs()",
}


_PICKLE_ADVICE = (
    "pickle what it was made from, and call torch.compile where it is loaded (not tried): a "
    "compiled function is pickled by its name, which has to lead to it"
)


class FailedForTarget(TargetError):
    """Raised if the compile for a target failed with an unexpected error that is not a refusal by
    one of tclab's rules.
    """


def eager_error(subject: Subject, backward: bool) -> BaseException | None:
    """Return the error that the calls raise without torch.compile; None if they raise none."""
    from tclab.capturing.backward import run_backward

    try:
        with seeded():
            for call in subject.calls():
                result = subject.callable(*call.args, **call.kwargs)
                if backward:
                    run_backward(result)
    except (Exception, SystemExit) as error:
        return error
    return None


def explain_function_error(
    subject: Subject, uncompiled_run: TrialResult, runner: TrialRunner
) -> ExplainError:
    """Return the error for a function that raises without torch.compile. `uncompiled_run` is the
    result of the run that raised.
    """
    place, cause = (
        uncompiled_run.place or subject.place,
        f"{subject.title} raised: {uncompiled_run.error}",
    )
    if step := failing.advise_larger_example(runner, uncompiled_run.error, compiled=False):
        return ExplainError(place, cause, step)
    arguments = "; ".join(describe(call) or "nothing" for call in subject.calls()[:4])
    step = f"correct the line, or the inputs ({arguments})"
    if (
        "NotImplementedError" in uncompiled_run.error
        and "from the 'CPU' backend" in uncompiled_run.error
    ):
        step = "the operator has no kernel for the CPU: with torch.library.register_fake "
        step += "--target shows what is around it"
    # torch.export raises such an error even without torch.compile
    own = uncompiled_run.error.startswith("torch._dynamo.")
    return ExplainError(
        place, cause, step if own else f"it raises without torch.compile too: {step}"
    )


def explain_own_compile_error(
    subject: Subject, error: BaseException, runner: TrialRunner
) -> ExplainError:
    """Return the error for a function that fails only while its own torch.compile is active."""
    place = find_user_line(error) or subject.place
    cause = f"{subject.title} raised: {last_line(error)}; without its own torch.compile it does not"
    step = failing.advise_larger_example(runner, last_line(error), compiled=True)
    method = "'__func__'" in str(error) or "'__self__'" in str(error)
    # if no backend helps, the object itself is the cause
    if not step and not failing.runs_without_backend(runner):
        step = failing.find_working_order(runner, place) or failing.advise_keeping_object(
            runner, method=method
        )
    if method:
        cause += ". torch.compile of a method returns a function, which is bound to nothing"
        step = step or "compile a function that calls the method"
    if "pickle" in last_line(error):
        step = step or _PICKLE_ADVICE
    found = failing.diagnose(runner, place, str(error)) if not step else None
    return ExplainError(place, cause, found.step if found else step)


def explain_compiler_error(
    subject: Subject, error: BaseException, target: Target | None, runner: TrialRunner
) -> TclabError:
    """Return the error for a function that runs in eager but on which the compiler fails."""
    place = find_user_line(error) or subject.place
    for each in filter(files.is_disk_full_error, causes(error)):
        cause = f"the disk is full, where the compiler writes: {last_line(each)}"
        return ExplainError(place, cause, files.disk_space_advice())
    if target is not None:
        cause = f"the compile for {target.name} failed: {last_line(error)}"
        return FailedForTarget(
            place, cause, "whether the GPU's own does is not known: try it there"
        )
    text = "".join(traceback.format_exception_only(error))
    if step := next((hint for part, hint in _HINTS.items() if part in text), ""):
        return ExplainError(
            place, f"it runs, but torch.compile fails on it: {last_line(error)}", step
        )
    line = find_user_line(error) or _printed_place(text)
    line = "" if _BEGIN.search(line) else line
    place, found = line or place, failing.diagnose(runner, line, text)
    if at := _PLACE.fullmatch(found.place):
        place = code_at(at["file"], int(at["line"]))
    operator = failing.find_operator(text) or found.operator
    where = f", in {found.stage}" * bool(found.stage) + f", at {operator}" * bool(operator)
    cause = f"it runs, but torch.compile fails on it{where}: {last_line(error)}"
    return ExplainError(place, cause, _step_from_pytorch(text) or found.step)


#: The line of compiled code in a traceback is the first of its function.
# my_model.py:15 (def forward(self, maps):)
_BEGIN = re.compile(r":\d+ \((?:async def |def |@)")
# Please use `smooth.register_fake` to add an fake impl.
_ADVICE = re.compile(
    r"\bPlease (?:use|add|call|pass|set|register|wrap)\b[^\n]*?(?=\.(?:\s|'|\"|\)|$))"
)


def _step_from_pytorch(text: str) -> str:
    """Return the step that PyTorch's own error tells the reader to take; '' if it tells none."""
    found = _ADVICE.search(text)
    return f"{found[0]} (PyTorch says so; not tried)".removeprefix("Please ") if found else ""


# my_model.py:18
_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d+)")


def _printed_place(text: str) -> str:
    """Return the user's innermost line in a traceback printed inside the compiler's error."""
    frames = user_lines.select_user_lines(read_frames(text), lambda frame: frame.file)
    return code_at(frames[-1].file, frames[-1].line) if frames else ""


def explain_fullgraph_break(subject: Subject, breaks: Breaks, runner: TrialRunner) -> ExplainError:
    """Return the error for a function with graph breaks and ``fullgraph=True``."""
    first, count = hints.try_hints(breaks, {}, runner).breaks[0], len(breaks)
    number = f" [{first.gb_id}]" if first.gb_id else ""
    more = f", and {count - 1} more after it" if count > 1 else ""
    fix = " ".join(" ".join(fixes.usable_hints(first)[:1]).split())
    return ExplainError(
        _break_place(first.location) or subject.place,
        f"fullgraph=True allows no graph break, and here is one: {first.reason}{number}{more}",
        f"{fix} Without fullgraph=True the report shows every break".strip(),
    )


def _break_place(line: SourceLine | None) -> str:
    """Return one of the user's lines and its code, with the path relative to the working folder."""
    if line is None:
        return ""
    code = f" ({line.code.strip()})" if line.code.strip() else ""
    return f"{line}{code}".removeprefix(scrub(f"{Path.cwd()}/"))


# --------------------------------------------------------------------------- its process

# Current thread 0x00007f9c5d3f1740 [python] (most recent call first):
_CURRENT = re.compile(r"^Current thread 0x.*\n((?:  .*\n?)*)", re.MULTILINE)
# the last one is the main thread: Thread 0x00007f2a3c5d6740 (most recent call first):
_MAIN = re.compile(r"^Thread 0x.*\n((?:  .*\n?)*)\Z", re.MULTILINE)
# what called the command: File "/opt/venv/lib/tclab/cli/explaining/command.py", line 250 in explain
_COMMAND = re.compile(r'^  File ".*[/\\]tclab[/\\]cli[/\\]', re.MULTILINE)
# Timeout (0:00:20)!
_LATE = re.compile(r"Timeout \(([\d:.]+)\)!")
# File "/home/me/model.py", line 12 in forward
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in ', re.MULTILINE)


def explain_process_end(place: str, status: int, stack: str = "") -> ExplainError:
    """Return the error for a process that ended before the report was written. A negative `status`
    is the signal that killed the process; `stack` is the text that faulthandler wrote.
    """
    end, step = _describe_end(status), _end_advice(status)
    if late := _LATE.match(stack):
        hours, minutes, seconds = (float(part) for part in late[1].split(":"))
        end = f"it did not end within {3600 * hours + 60 * minutes + seconds:g} s"
        step = "mend what hangs or waits there, or give it more: --seconds N"
    current = _CURRENT.search(stack) or _MAIN.search(stack)
    stack = _COMMAND.split(current[1] if current else stack)[0]
    frames = user_lines.select_user_lines(_FRAME.finditer(stack), lambda frame: frame["file"])
    for frame in frames[:1]:  # the innermost frame is the first
        place = code_at(frame["file"], int(frame["line"]))
    return ExplainError(place, f"{end}; no report was written", step)


def _describe_end(status: int) -> str:
    if status < 0:
        return f"the process was killed by {signal.Signals(-status).name}"
    return f"the process was left with os._exit({status}) or by a library's exit()"


def _end_advice(status: int) -> str:
    if status == -signal.SIGKILL:
        return "if memory ran out (dmesg says so), make the inputs smaller"
    if status < 0:
        return "call it without tclab: python -X faulthandler says where it ends"
    return "take out what ends the process, or raise an error in its place"


# --------------------------------------------------------------------------- no backward


def explain_missing_gradient(subject: Subject) -> ExplainError:
    """Return the error for ``--backward`` if the results have no gradient."""
    calls = subject.calls()
    results = [subject.callable(*call.args, **call.kwargs) for call in calls]
    cause, step = _why_no_gradient(subject, calls, results)
    return ExplainError(subject.place, f"--backward: there is no backward: {cause}", step)


def _why_no_gradient(subject: Subject, calls: list[Call], results: list[object]) -> tuple[str, str]:
    """Return cause and next step for a function whose results do not require grad."""
    import torch

    leaves = list(_walk_leaves(results))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if not tensors:
        kinds = ", ".join(dict.fromkeys(type(leaf).__name__ for leaf in leaves)) or "nothing"
        return f"it returns no tensor ({kinds})", f"return the loss; or {_LEAVE}"
    if not any(t.is_floating_point() or t.is_complex() for t in tensors):
        dtypes = ", ".join(dict.fromkeys(str(t.dtype) for t in tensors))
        return f"it returns {dtypes}, and only floating-point tensors have gradients", _LEAVE
    arguments = _walk_leaves([(call.args, dict(call.kwargs)) for call in calls])
    inputs = [t for t in arguments if isinstance(t, torch.Tensor)]
    if not any(t.requires_grad for t in [*inputs, *subject.parameters]):
        step = "in example_inputs(), make one with requires_grad=True; or leave --backward out"
        return "no input and no parameter requires grad", step
    return "its results are detached (torch.no_grad, .detach() or integers on the way)", _LEAVE


def _walk_leaves(tree: object) -> Iterator[object]:
    """Yield the values in the nested lists, tuples and dictionaries that a model may return."""
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        for value in tree:
            yield from _walk_leaves(value)
    else:
        yield tree
