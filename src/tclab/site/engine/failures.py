"""Turn the end of a process into a `Failure`, and a `Failure` into the error that users read."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import replace

from tclab.errors import RunFailed
from tclab.model import Claim, Failure, Run, Snippet, SourceLine, source_lines
from tclab.site.engine.worker.protocol import End, Ended, Stopped
from tclab.system.paths import NoTemporarySpace
from tclab.text.scrub import scrub, strip_terminal_codes

#: The most bytes that a run may write to stdout, and to stderr.
OUTPUT_LIMIT = 8 * 2**20

#: The most files in a run's own folders.
MOST_FILES = 100_000

_LEAST_BYTES = 2**30  # bytes; `files_limit` returns no less

# The numbers of first and last lines to which a long message is shortened; one of these lines names
# the cause.
_BEGINNING, _END = 15, 15

#: A message shows at most this number of characters of a line; the rest is cut out of the line's
#: middle.
_LINE = 1000


def files_limit(snippet: Snippet) -> int:
    """Return the most bytes of files that a run may keep in its working and temporary folders: a
    quarter of its memory limit, but at least 1 GiB, which is the default.
    """
    return max(_LEAST_BYTES, snippet.memory * 2**20 // 4)


def make_error(run: Run, wanted_by: str = "") -> RunFailed:
    """Return the error of a failed run, with place, cause and next step.

    `wanted_by` is the place that needs the run, such as a page's line; the default is the line of
    the snippet.
    """
    failure = run.failure
    if failure is None:
        raise ValueError(f"{run.snippet} did not fail")
    place = str(failure.location or f"snippets/{run.snippet}.py")
    cause = f"{failure.cause}: {_shorten_message(failure.message)}"
    step = failure.next_step or _STEPS[failure.cause].format(file=f"snippets/{run.snippet}.py")
    if wanted_by:
        return RunFailed(wanted_by, f"{place}: {cause}", step)
    return RunFailed(place, cause, step)


def _shorten_message(message: str) -> str:
    """Remove the middle of a long message, because a compiler may print a thousand warnings, and
    of its long lines, because a tensor may have been written into one.
    """
    lines = [_shorten_line(line) for line in message.split("\n")]
    left_out = lines[_BEGINNING:-_END]
    if len(left_out) >= _BEGINNING:
        lines = [*lines[:_BEGINNING], f"… {len(left_out):,} lines …", *lines[-_END:]]
    return "\n".join(lines)


def _shorten_line(line: str) -> str:
    left_out = len(line) - _LINE
    if left_out < _LINE:
        return line
    return f"{line[: _LINE // 2]} … {left_out:,} characters … {line[-_LINE // 2 :]}"


# --------------------------------------------------------------------------- from a process


def classify_end(
    snippet: Snippet, end_message: Ended, end: End | None, fault: str, line: int = 0
) -> Failure | None:
    """Return the failure of one finished process; None if it succeeded.

    `end_message` is the supervisor's message. `end` is the report that the process itself wrote;
    None if it wrote none. `fault` is the Python stack from faulthandler. `line` is the snippet's
    line at which the process was stopped; 0 if it is not known.
    """
    if end_message["limit"]:
        failure = _make_failure(
            snippet, end_message["limit"], _limit_text(snippet, end_message), fault=fault
        )
        return replace(failure, location=_source_line(snippet, line) or failure.location)
    if end is None or end_message["status"] != 0:
        return _failure_without_report(snippet, end_message["status"], fault)
    if end["ended"] == "as declared":
        return None
    if end["ended"] == "returned":
        return _did_not_raise(snippet) if snippet.raises else None
    return _failure_from_report(snippet, end)


def _failure_from_report(snippet: Snippet, end: Stopped) -> Failure:
    """Return the failure of a snippet that raised an error that its header does not declare."""
    message, location = end["message"], _source_line(snippet, end["line"])
    if snippet.raises:
        message = f"it should end with {snippet.raises}, and ended with {message}"
    if end["ended"] == "assertion" and message.strip() == "AssertionError" and location:
        message = f"AssertionError: {location.code}"
    step = end["hint"] or _STEPS[end["ended"]].format(file=snippet.file)
    return Failure(end["ended"], message, location, end["traceback"], step)


def unreadable_artifact(snippet: Snippet, number: int, problem: Exception) -> Failure:
    """Return the failure of a snippet whose artifact `number`, from 1, cannot be read back."""
    what = f"what it showed as number {number} cannot be read back: {problem}"
    return _make_failure(snippet, "artifact", scrub(strip_terminal_codes(what)))


def failure_of_claims(snippet: Snippet, broken: Sequence[Claim]) -> Failure | None:
    """Return the failure of a snippet with these broken claims; None if there are none."""
    if not broken:
        return None
    texts = [f"{c.name} (line {c.line}): {c.broken or c.code}" for c in broken]
    step = _STEPS["assertion"].format(file=snippet.file)
    return Failure("assertion", "; ".join(texts), _source_line(snippet, broken[0].line), "", step)


#: Causes of failures in which the run's processes were killed at an unknown point.
KILLED = ("timeout", "memory", "output", "files", "signal", "worker")

#: Causes that a full disk can explain, because the process could not write its report or artifacts.
MAY_BE_FULL_DISK = ("exit", "worker", "artifact")


def disk_full(snippet: Snippet) -> Failure:
    """Return the failure of a run after which the disk was full."""
    why = NoTemporarySpace("no space is left on its disk")
    return replace(
        _make_failure(snippet, "files", f"{why.place}: {why.cause}"), next_step=why.next_step
    )


def supervisor_died(snippet: Snippet, log: str) -> Failure:
    """Return the failure of a snippet that ran when the supervisor died; the failure quotes the end
    of the supervisor's log.
    """
    message = "the process that starts snippets died while this one ran"
    return _make_failure(
        snippet, "worker", message, traceback=scrub(strip_terminal_codes(log[-2000:]))
    )


# --------------------------------------------------------------------------- each cause

_STEPS = {
    "raised": "run it alone: python {file}",
    "assertion": "what it claims no longer holds: mend the claim or the code",
    "unsteady": "run it while nothing else runs here; or record it then: tclab record ENVIRONMENT",
    "exit": "let the file end by itself; raise an error, declared with raises=, to show one",
    "signal": "run it alone: python -X faulthandler {file}",
    "timeout": "make it quicker, or give it more in its header: # tclab: timeout=SECONDS",
    "memory": "make it smaller, or give it more in its header: # tclab: memory=MIB",
    "output": "print less: the limit is 8 MiB of stdout and of stderr",
    "files": "write less: the limit is a quarter of a run's memory, and at least 1 GiB; and "
    f"{MOST_FILES:,} files",
    "did_not_raise": "mend the snippet, or take raises= out of its header",
    "artifact": "show only what tclab.show takes; nothing else may write into the run's folder",
    "worker": "run it again; should it repeat, look for what it does to its parent process",
}


def _make_failure(
    snippet: Snippet, cause: str, message: str, *, fault: str = "", traceback: str = ""
) -> Failure:
    stack = traceback or scrub(strip_terminal_codes(fault)).strip()
    step = _STEPS[cause].format(file=snippet.file)
    return Failure(cause, message, _line_in_fault(snippet, fault), stack, step)


def _limit_text(snippet: Snippet, end_message: Ended) -> str:
    return {
        "timeout": f"still running after its {snippet.timeout:g} s",
        "memory": f"held {end_message['peak'] / 2**20:.0f} MiB, over its {snippet.memory} MiB",
        "output": f"wrote more than {OUTPUT_LIMIT // 2**20} MiB of output",
        "files": f"wrote more than {files_limit(snippet) // 2**20} MiB of files, or {MOST_FILES:,}",
    }[end_message["limit"]]


def _failure_without_report(snippet: Snippet, status: int | None, fault: str) -> Failure:
    """Return the failure of a process that did not report how it ended."""
    if status is None:
        return _make_failure(snippet, "worker", "the process that watched it died", fault=fault)
    if status < 0:
        return _make_failure(snippet, "signal", f"killed by {_signal_name(-status)}", fault=fault)
    if status == 70:
        return _make_failure(snippet, "worker", "its process could not be started", fault=fault)
    return _make_failure(snippet, "exit", f"its process left with os._exit({status})", fault=fault)


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({signal.strsignal(number)})"
    except ValueError:
        return f"signal {number}"


def _did_not_raise(snippet: Snippet) -> Failure:
    message = f"it should end with {snippet.raises}, and ended without an error"
    return _make_failure(snippet, "did_not_raise", message)


# --------------------------------------------------------------------------- source lines


def _line_in_fault(snippet: Snippet, fault: str) -> SourceLine | None:
    """Return the snippet's innermost line in a stack from faulthandler; None if the stack has
    none.
    """
    file = re.escape(snippet.file)
    match = re.search(rf'File ".*{file}", line (\d+)', fault)
    return _source_line(snippet, int(match[1])) if match else None


def _source_line(snippet: Snippet, line: int | None) -> SourceLine | None:
    if not line:
        return None
    lines = source_lines(snippet.source)
    code = lines[line - 1].strip() if line <= len(lines) else ""
    return SourceLine(snippet.file, line, code)
