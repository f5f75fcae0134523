"""From how a process ended to a `Failure`, and from that to the error that users read."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import replace

from tclab.engine.worker.protocol import End, Ended, Stopped
from tclab.errors import RunFailed
from tclab.model import Claim, Failure, Run, Snippet, SourceLine, source_lines
from tclab.paths import NoRoom
from tclab.scrub import plain, scrub

#: Most bytes of stdout, and of stderr.
OUTPUT_LIMIT = 8 * 2**20

_LEAST_FILES = 2**30  # bytes

# Lines of a message that are told; what went wrong stands in the first or in the last.
_BEGINNING, _END = 15, 15


def files_limit(snippet: Snippet) -> int:
    """Most bytes of files in a run's own folders, where it works and has its temporary files: a
    quarter of its memory, and at least 1 GiB, which is a quarter of what it has by default.
    """
    return max(_LEAST_FILES, snippet.memory * 2**20 // 4)


def error(run: Run, wanted_by: str = "") -> RunFailed:
    """A failed run as the error that is raised or printed: place, cause and next step.

    `wanted_by` is the place that needs the run, such as a page's line; by default the place is
    the snippet's own.
    """
    failure = run.failure
    if failure is None:
        raise ValueError(f"{run.snippet} did not fail")
    place = str(failure.location or f"snippets/{run.snippet}.py")
    cause = f"{failure.cause}: {_without_middle(failure.message)}"
    step = failure.next_step or _STEPS[failure.cause].format(file=f"snippets/{run.snippet}.py")
    if wanted_by:
        return RunFailed(wanted_by, f"{place}: {cause}", step)
    return RunFailed(place, cause, step)


def _without_middle(message: str) -> str:
    """A message whose cause is still to be seen: a compiler's may have a thousand warnings."""
    lines = message.split("\n")
    left_out = lines[_BEGINNING:-_END]
    if len(left_out) < _BEGINNING:
        return message
    return "\n".join([*lines[:_BEGINNING], f"… {len(left_out):,} lines …", *lines[-_END:]])


# --------------------------------------------------------------------------- from a process


def of_job(
    snippet: Snippet, ended: Ended, end: End | None, fault: str, line: int = 0
) -> Failure | None:
    """The failure of one finished process, None where it did as it should.

    `ended` is the supervisor's message, `end` what the process said of itself at its end
    (None: nothing), `fault` the Python stack faulthandler wrote, `line` where it was when
    it was stopped (0: unknown).
    """
    if ended["limit"]:
        failure = _failure(snippet, ended["limit"], _limit_text(snippet, ended), fault=fault)
        return replace(failure, location=_at(snippet, line) or failure.location)
    if end is None or ended["status"] != 0:
        return _vanished(snippet, ended["status"], fault)
    if end["ended"] == "as declared":
        return None
    if end["ended"] == "returned":
        return _did_not_raise(snippet) if snippet.raises else None
    return _stopped(snippet, end)


def _stopped(snippet: Snippet, end: Stopped) -> Failure:
    """It ended with an error of its own."""
    message, location = end["message"], _at(snippet, end["line"])
    if snippet.raises:
        message = f"it should end with {snippet.raises}, and ended with {message}"
    if end["ended"] == "assertion" and message.strip() == "AssertionError" and location:
        message = f"AssertionError: {location.code}"
    step = end["hint"] or _STEPS[end["ended"]].format(file=snippet.file)
    return Failure(end["ended"], message, location, end["traceback"], step)


def unreadable(snippet: Snippet, number: int, problem: Exception) -> Failure:
    """The artifact that it showed as number `number` cannot be read back."""
    what = f"what it showed as number {number} cannot be read back: {problem}"
    return _failure(snippet, "artifact", scrub(plain(what)))


def of_claims(snippet: Snippet, broken: Sequence[Claim]) -> Failure | None:
    """The failure of a snippet of which some claims do not hold, None where all do."""
    if not broken:
        return None
    texts = [f"{c.name} (line {c.line}): {c.broken or c.code}" for c in broken]
    step = _STEPS["assertion"].format(file=snippet.file)
    return Failure("assertion", "; ".join(texts), _at(snippet, broken[0].line), "", step)


#: How a run ends whose processes were killed, whatever they were doing.
ENDED_FROM_OUTSIDE = ("timeout", "memory", "output", "files", "signal", "worker")

#: How a run may end whose process could not write any more.
WITHOUT_ROOM = ("exit", "worker", "artifact")


def no_room(snippet: Snippet) -> Failure:
    """The disk was full at the end of the run."""
    why = NoRoom("no space is left on its disk")
    return replace(_failure(snippet, "files", f"{why.place}: {why.cause}"), next_step=why.next_step)


def lost(snippet: Snippet, log: str) -> Failure:
    """The engine's own process died under the snippet."""
    message = "the process that starts snippets died while this one ran"
    return _failure(snippet, "worker", message, traceback=scrub(plain(log[-2000:])))


# --------------------------------------------------------------------------- each cause

_STEPS = {
    "raised": "run it alone: python {file}",
    "assertion": "what it claims no longer holds: mend the claim or the code",
    "exit": "let the file end by itself; raise an error, declared with raises=, to show one",
    "signal": "run it alone: python -X faulthandler {file}",
    "timeout": "make it quicker, or give it more in its header: # tclab: timeout=SECONDS",
    "memory": "make it smaller, or give it more in its header: # tclab: memory=MIB",
    "output": "print less: the limit is 8 MiB of stdout and of stderr",
    "files": "write less: the limit is a quarter of a run's memory, and at least 1 GiB",
    "did_not_raise": "mend the snippet, or take raises= out of its header",
    "artifact": "show only what tclab.show takes; nothing else may write into the run's folder",
    "worker": "run it again; should it repeat, look for what it does to its parent process",
}


def _failure(
    snippet: Snippet, cause: str, message: str, *, fault: str = "", traceback: str = ""
) -> Failure:
    stack = traceback or scrub(plain(fault)).strip()
    step = _STEPS[cause].format(file=snippet.file)
    return Failure(cause, message, _in_fault(snippet, fault), stack, step)


def _limit_text(snippet: Snippet, ended: Ended) -> str:
    return {
        "timeout": f"still running after its {snippet.timeout:g} s",
        "memory": f"held {ended['peak'] / 2**20:.0f} MiB, over its {snippet.memory} MiB",
        "output": f"wrote more than {OUTPUT_LIMIT // 2**20} MiB of output",
        "files": f"wrote more than {files_limit(snippet) // 2**20} MiB of files",
    }[ended["limit"]]


def _vanished(snippet: Snippet, status: int | None, fault: str) -> Failure:
    """The process ended without a word."""
    if status is None:
        return _failure(snippet, "worker", "the process that watched it died", fault=fault)
    if status < 0:
        return _failure(snippet, "signal", f"killed by {_signal_name(-status)}", fault=fault)
    if status == 70:
        return _failure(snippet, "worker", "its process could not be started", fault=fault)
    return _failure(snippet, "exit", f"its process left with os._exit({status})", fault=fault)


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({signal.strsignal(number)})"
    except ValueError:
        return f"signal {number}"


def _did_not_raise(snippet: Snippet) -> Failure:
    message = f"it should end with {snippet.raises}, and ended without an error"
    return _failure(snippet, "did_not_raise", message)


# --------------------------------------------------------------------------- places


def _in_fault(snippet: Snippet, fault: str) -> SourceLine | None:
    """The snippet's innermost line in a stack that faulthandler wrote."""
    file = re.escape(snippet.file)
    match = re.search(rf'File ".*{file}", line (\d+)', fault)
    return _at(snippet, int(match[1])) if match else None


def _at(snippet: Snippet, line: int | None) -> SourceLine | None:
    if not line:
        return None
    lines = source_lines(snippet.source)
    code = lines[line - 1].strip() if line <= len(lines) else ""
    return SourceLine(snippet.file, line, code)
