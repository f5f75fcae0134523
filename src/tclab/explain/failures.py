"""Every way in which a compile of the user's function can fail, as one message."""

from __future__ import annotations

import linecache
import re
import signal
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tclab import files, machine, user_lines
from tclab.errors import ExplainError, TclabError
from tclab.explain import fixes
from tclab.explain.inputs import Call, describe
from tclab.explain.load import causes, last_line, near, place_of
from tclab.explain.seeds import seeded
from tclab.explain.subject import Subject
from tclab.model import SourceLine
from tclab.scrub import scrub
from tclab.targets import Target, TargetError

if TYPE_CHECKING:
    from tclab.model import Breaks

_LEAVE = "leave --backward out"
_HINTS = machine.CXX_STEPS | {
    "FailOnRecompileLimitHit": "see the recompile reasons with fewer calls in example_inputs()",
}


def eager_error(subject: Subject, backward: bool) -> BaseException | None:
    """What the calls raise without torch.compile; None if they do not."""
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


def of_the_function(subject: Subject, error: BaseException) -> ExplainError:
    """The function raises by itself."""
    arguments = "; ".join(describe(call) or "nothing" for call in subject.calls()[:4])
    step = f"correct the line, or the inputs ({arguments})"
    if isinstance(error, NotImplementedError) and "from the 'CPU' backend" in str(error):
        step = "the operator has no kernel for the CPU: with torch.library.register_fake "
        step += "--target shows what is around it"
    return ExplainError(
        place_of(error) or subject.place,
        f"{subject.title} raised: {last_line(error)}",
        f"it raises without torch.compile too: {step}",
    )


def of_the_compiler(subject: Subject, error: BaseException, target: Target | None) -> TclabError:
    """The function runs, and the compiler fails on it."""
    place = place_of(error) or subject.place
    for each in filter(files.is_of_a_full_disk, causes(error)):
        cause = f"the disk is full, where the compiler writes: {last_line(each)}"
        return ExplainError(place, cause, files.free_some())
    if target is not None:
        cause = f"the compile for {target.name} failed: {last_line(error)}"
        return TargetError(place, cause, "whether the GPU's own does is not known: try it there")
    text = "".join(traceback.format_exception_only(error))
    step = next((hint for part, hint in _HINTS.items() if part in text), "")
    return ExplainError(
        place,
        f"it runs, but torch.compile fails on it: {last_line(error)}",
        step or "search PyTorch's issues for this message; TORCHDYNAMO_VERBOSE=1 says more",
    )


def of_fullgraph(subject: Subject, breaks: Breaks) -> ExplainError:
    """``fullgraph=True`` and a function that breaks: where, why, and what to do."""
    first, count = breaks.breaks[0], len(breaks)
    number = f" [{first.gb_id}]" if first.gb_id else ""
    more = f", and {count - 1} more after it" if count > 1 else ""
    fix = " ".join(" ".join(fixes.of(first)[:1]).split())
    return ExplainError(
        _at(first.location) or subject.place,
        f"fullgraph=True allows no graph break, and here is one: {first.reason}{number}{more}",
        f"{fix} Without fullgraph=True the report shows every break".strip(),
    )


def _at(line: SourceLine | None) -> str:
    """A line of the user's with its code, named from the working folder."""
    if line is None:
        return ""
    code = f" ({line.code.strip()})" if line.code.strip() else ""
    return f"{line}{code}".removeprefix(scrub(f"{Path.cwd()}/"))


# --------------------------------------------------------------------------- its process

# File "/home/me/model.py", line 12 in forward
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in ', re.MULTILINE)


def of_the_process(place: str, status: int, stack: str = "") -> ExplainError:
    """The process ended before the report was made, with `status` (below 0: by that signal);
    `stack` is what faulthandler wrote.
    """
    frames = user_lines.users(_FRAME.finditer(stack), lambda frame: frame["file"])
    for frame in frames[:1]:  # the innermost comes first
        code = linecache.getline(frame["file"], int(frame["line"])).strip()
        place = f"{near(frame['file'])}:{frame['line']}" + (f" ({code})" if code else "")
    return ExplainError(place, f"{_end(status)}; no report was written", _end_step(status))


def _end(status: int) -> str:
    if status < 0:
        return f"the process was killed by {signal.Signals(-status).name}"
    return f"the process was left with os._exit({status}) or by a library's exit()"


def _end_step(status: int) -> str:
    if status == -signal.SIGKILL:
        return "if memory ran out (dmesg says so), make the inputs smaller"
    if status < 0:
        return "call it without tclab: python -X faulthandler says where it ends"
    return "take out what ends the process, or raise an error in its place"


# --------------------------------------------------------------------------- no backward


def no_gradient(subject: Subject) -> ExplainError:
    """``--backward`` where there is none: why."""
    calls = subject.calls()
    results = [subject.callable(*call.args, **call.kwargs) for call in calls]
    cause, step = _why_no_gradient(subject, calls, results)
    return ExplainError(subject.place, f"--backward: there is no backward: {cause}", step)


def _why_no_gradient(subject: Subject, calls: list[Call], results: list[object]) -> tuple[str, str]:
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
    inputs = [t for t in arguments if isinstance(t, torch.Tensor)]
    if not any(t.requires_grad for t in [*inputs, *subject.parameters]):
        step = "in example_inputs(), make one with requires_grad=True; or leave --backward out"
        return "no input and no parameter requires grad", step
    return "its results are detached (torch.no_grad, .detach() or integers on the way)", _LEAVE


def _leaves(tree: object) -> Iterator[object]:
    """What is in nested lists, tuples and dictionaries (a model's output is one of these)."""
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        for value in tree:
            yield from _leaves(value)
    else:
        yield tree
