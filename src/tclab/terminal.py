"""What the commands show in a terminal: tables, live progress, errors. Needs rich.

Colours go where there is a terminal that has them and NO_COLOR is not set; a pipe and a
dumb terminal get one plain line for each thing that happens.
"""

from __future__ import annotations

import os
import sys
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

from tclab.engine import events
from tclab.model import Run, Snippet
from tclab.store.status import Status

MIB = 1024 * 1024

#: How each state of a run is written; `list` explains them.
STYLES = {
    "fresh": "green",
    "ok": "green",
    "stale": "yellow",
    "never": "yellow",
    "failed": "bold red",
    "broken": "red",
    "needs": "dim",
}


def console(*, stderr: bool = False) -> Console:
    """A console that breaks no lines in a pipe."""
    stream = sys.stderr if stderr else sys.stdout
    piped = not stream.isatty() and "COLUMNS" not in os.environ
    return Console(stderr=stderr, highlight=False, soft_wrap=False, width=10_000 if piped else None)


def styled(state: str) -> str:
    """A state such as ``fresh`` or ``needs cuda`` in its colour, as rich markup."""
    style = STYLES.get(state.split(" ", 1)[0].rstrip(":"))
    return f"[{style}]{escape(state)}[/]" if style else escape(state)


def plain_table(*columns: str, right: Sequence[str] = ()) -> Table:
    """A table without frames, so that grep and cut work on it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", no_wrap=True)
    return table


def snippet_table(environments: Sequence[str], every: Mapping[Snippet, Sequence[Status]]) -> Table:
    """Snippets against environments: what each needs and how fresh its runs are."""
    table = plain_table("snippet", "needs", *environments, "shows")
    for snippet, several in every.items():
        needs = ",".join(sorted(snippet.needs)) or "-"
        states = [styled(word(status)) for status in several]
        table.add_row(snippet.name, needs, *states, escape(snippet.title))
    return table


def word(status: Status) -> str:
    """A status in a word: ``-`` for a recording that was not made, ``needs`` with what."""
    if status.state == "lacking":
        return f"needs {','.join(status.why)}"
    never_recorded = status.state == "never" and status.environment != "here"
    return "-" if never_recorded else status.state


def result_table(runs: Mapping[str, Run]) -> Table:
    """Seconds, memory and result of runs."""
    table = plain_table("snippet", "seconds", "MiB", "result", right=("seconds", "MiB"))
    for name, run in runs.items():
        table.add_row(name, f"{run.seconds:.2f}", f"{run.peak_memory / MIB:.0f}", result(run))
    return table


def result(run: Run) -> str:
    """``ok`` and what was shown, or why it failed, as rich markup."""
    if run.failure:
        return f"{styled('failed')} {escape(run.failure.cause)}"
    raised = ", raised as declared" if run.raised else ""
    return f"{styled('ok')} {plural(len(run.artifacts), 'artifact')}{raised}"


def plural(count: int, noun: str) -> str:
    """``1 artifact``, ``2 artifacts``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def error(problem: object) -> None:
    """An error on stderr: its first line marked, the rest as it is."""
    head, _, rest = str(problem).partition("\n")
    out = console(stderr=True)
    out.print(f"[bold red]error:[/] {escape(head)}", soft_wrap=True)
    if rest:
        out.print(escape(rest), soft_wrap=True)


@contextmanager
def progress(total: int, verb: str = "running") -> Iterator[events.OnEvent]:
    """A callback for the runner's events: a live bar on a terminal, else a line a result."""
    out = console(stderr=True)
    if not out.is_terminal or out.is_dumb_terminal:
        yield lambda event: _say(out, event)
        return
    with _bar(out) as bar:
        yield _Live(bar, bar.add_task(verb, total=total), verb)


def _bar(out: Console) -> Progress:
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, TimeElapsedColumn(), console=out, transient=True)


class _Live:
    """Moves a rich progress bar along with the runner's events."""

    def __init__(self, bar: Progress, task: TaskID, verb: str) -> None:
        self.bar, self.task, self.verb = bar, task, verb
        self.now: dict[str, str] = {}  # by snippet; '' is the engine itself

    def __call__(self, event: events.Event) -> None:
        """Print what has ended, describe what goes on."""
        _say(self.bar.console, event)
        if isinstance(event, events.Planned):
            self.bar.update(self.task, total=event.total)
        elif isinstance(event, events.Started):
            self.now[event.snippet] = f"{event.snippet}{_on(event.worker)}"
        elif isinstance(event, events.Warming):
            self.now[""] = "warming up"
        else:
            self.now.pop(event.snippet, None)
        if isinstance(event, (events.Finished, events.Reused, events.Skipped, events.Refused)):
            self.bar.advance(self.task)
        doing = ", ".join(list(self.now.values())[:3]) or self.verb
        self.bar.update(self.task, description=escape(doing))


def _say(out: Console, event: events.Event) -> None:
    """The line that an event is worth, if any."""
    if text := _line(event):
        out.print(text, soft_wrap=True)


def _on(worker: str) -> str:
    return f" on {escape(worker)}" if worker else ""


def _line(event: events.Event) -> str:
    name = event.snippet
    if isinstance(event, events.Finished) and event.run:
        return f"{name} {result(event.run)} {event.run.seconds:.1f} s{_on(event.worker)}"
    if isinstance(event, events.Skipped):
        return f"{name} {styled('needs ' + ', '.join(sorted(event.missing)))}"
    if isinstance(event, events.Refused):
        return f"{name} {styled('needs')} what no worker has: {escape(event.why)}"
    if isinstance(event, events.Elsewhere):
        return f"{name} runs again elsewhere: {escape(event.worker)}: {escape(event.why)}"
    if isinstance(event, events.Again) and event.run and event.run.failure:
        return f"{name} is measured again: {escape(event.run.failure.message)}"
    if isinstance(event, events.Waiting):
        return f"{name} waits: another build is running it"
    if isinstance(event, events.Reused):
        return f"{name} {styled('ok')} taken from another build"
    if isinstance(event, events.Warm) and event.note:
        return escape(event.note)
    if isinstance(event, events.StoreTrouble):
        return f"{name} {styled('failed')} {escape(event.message)}"
    return ""


def note(text: str) -> None:
    """A remark on stderr."""
    console(stderr=True).print(escape(text), soft_wrap=True)
