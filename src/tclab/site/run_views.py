"""Show runs in a terminal: tables of states and results, and a progress bar. This module needs
rich.

A pipe and a dumb terminal get one plain line for each event instead of the bar.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from tclab.cli.terminal import console, plain_table, plural
from tclab.model import Run, Snippet
from tclab.site.engine import events
from tclab.site.store.status import Status

MIB = 1024 * 1024

#: The rich style of each state of a run; ``tclab list --help`` explains the states.
STYLES = {
    "fresh": "green",
    "ok": "green",
    "stale": "yellow",
    "never": "yellow",
    "failed": "bold red",
    "broken": "red",
    "needs": "dim",
}


def style_state(state: str) -> str:
    """Return a state such as ``fresh`` or ``needs cuda`` in its colour, as rich markup."""
    style = STYLES.get(state.split(" ", 1)[0].rstrip(":"))
    return f"[{style}]{escape(state)}[/]" if style else escape(state)


def snippet_table(
    environments: Sequence[str], statuses: Mapping[Snippet, Sequence[Status]]
) -> Table:
    """Return a table with a row for each snippet: its needs, the state of its run in each
    environment, its title.
    """
    table = plain_table("snippet", "needs", *environments, "shows")
    for snippet, by_environment in statuses.items():
        needs = ",".join(sorted(snippet.needs)) or "-"
        states = [style_state(status_word(status)) for status in by_environment]
        table.add_row(snippet.name, needs, *states, escape(snippet.title))
    return table


def status_word(status: Status) -> str:
    """Return a status in a word, such as ``fresh``, ``needs cuda``, or ``-`` if it was not
    recorded.
    """
    if status.state == "lacking":
        return f"needs {','.join(status.why)}"
    never_recorded = status.state == "never" and status.environment != "here"
    return "-" if never_recorded else status.state


def result_table(runs: Mapping[str, Run]) -> Table:
    """Return a table with a row for each run: its seconds, its peak memory in MiB, its result."""
    table = plain_table("snippet", "seconds", "MiB", "result", right=("seconds", "MiB"))
    for name, run in runs.items():
        table.add_row(
            name, f"{run.seconds:.2f}", f"{run.peak_memory / MIB:.0f}", describe_result(run)
        )
    return table


def describe_result(run: Run) -> str:
    """Return ``ok`` and the number of artifacts, or ``failed`` and the cause, as rich markup."""
    if run.failure:
        return f"{style_state('failed')} {escape(run.failure.cause)}"
    raised = ", raised as declared" if run.raised else ""
    return f"{style_state('ok')} {plural(len(run.artifacts), 'artifact')}{raised}"


@contextmanager
def progress(total: int, verb: str = "running") -> Iterator[events.OnEvent]:
    """Yield a callback for events: it moves a bar on a terminal, and prints lines elsewhere."""
    out = console(stderr=True)
    if not out.is_terminal or out.is_dumb_terminal:
        yield lambda event: _print_event(out, event)
        return
    with _progress_bar(out) as bar:
        yield _BarUpdater(bar, bar.add_task(verb, total=total), verb)


def _progress_bar(out: Console) -> Progress:
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, TimeElapsedColumn(), console=out, transient=True)


class _BarUpdater:
    """Updates a rich progress bar at each event."""

    def __init__(self, bar: Progress, task: TaskID, verb: str) -> None:
        self.bar, self.task, self.verb = bar, task, verb
        self.running: dict[str, str] = {}  # snippet → the text of its progress; '' is the engine

    def __call__(self, event: events.Event) -> None:
        """Print results, and describe the runs in progress beside the bar."""
        _print_event(self.bar.console, event)
        if isinstance(event, events.Planned):
            self.bar.update(self.task, total=event.total)
        elif isinstance(event, events.Started):
            self.running[event.snippet] = f"{event.snippet}{_worker_suffix(event.worker)}"
        elif isinstance(event, events.Warming):
            self.running[""] = "warming up"
        else:
            self.running.pop(event.snippet, None)
        if isinstance(event, (events.Finished, events.Reused, events.Skipped, events.Refused)):
            self.bar.advance(self.task)
        doing = ", ".join(list(self.running.values())[:3]) or self.verb
        self.bar.update(self.task, description=escape(doing))


def _print_event(out: Console, event: events.Event) -> None:
    """Print the line of an event; some events have none."""
    if text := _event_line(event):
        out.print(text, soft_wrap=True)


def _worker_suffix(worker: str) -> str:
    return f" on {escape(worker)}" if worker else ""


def _event_line(event: events.Event) -> str:
    """Return the line that reports an event, as rich markup; '' for an event that needs none."""
    name = event.snippet
    if isinstance(event, events.Finished) and event.run:
        suffix = _worker_suffix(event.worker)
        return f"{name} {describe_result(event.run)} {event.run.seconds:.1f} s{suffix}"
    if isinstance(event, events.Skipped):
        return f"{name} {style_state('needs ' + ', '.join(sorted(event.missing)))}"
    if isinstance(event, events.Refused):
        return f"{name} {style_state('needs')} what no worker has: {escape(event.why)}"
    if isinstance(event, events.Rescheduled):
        return f"{name} runs again elsewhere: {escape(event.worker)}: {escape(event.why)}"
    if isinstance(event, events.Remeasured) and event.run and event.run.failure:
        return f"{name} is measured again: {escape(event.run.failure.message)}"
    if isinstance(event, events.Waiting):
        return f"{name} waits: another build is running it"
    if isinstance(event, events.Reused):
        return f"{name} {style_state('ok')} taken from another build"
    if isinstance(event, events.WarmedUp) and event.note:
        return escape(event.note)
    if isinstance(event, events.SaveFailed):
        return f"{name} {style_state('failed')} {escape(event.message)}"
    return ""
