"""What goes on, and since when, while the reader waits. Needs rich."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.markup import escape
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from tclab.cli import terminal
from tclab.explain import OnStep, Step, steps


class _Seconds(ProgressColumn):
    """How long a step has taken, or took."""

    def render(self, task: Task) -> Text:
        seconds = task.finished_time if task.finished else task.elapsed
        return Text(f"{seconds or 0:.0f} s", style="dim")


@contextmanager
def displayed() -> Iterator[OnStep]:
    """A callback for the steps. On a terminal those done, the one that goes on and the seconds of
    each stand there until the block ends; a dumb terminal gets a line a step, a pipe nothing.
    """
    out = terminal.console(stderr=True)
    if out.is_dumb_terminal and out.is_terminal:
        yield lambda step: out.print(escape(str(step)), soft_wrap=True)
    elif not out.is_terminal:
        yield steps.silent
    else:
        columns = (
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}", markup=False),
            _Seconds(),
        )
        with Progress(*columns, console=out, transient=True) as live:
            yield _Live(live)


class _Live:
    """A line for each step. Phases of one step (``compiling f: Inductor``) share its line."""

    def __init__(self, live: Progress) -> None:
        self.live = live
        self.work = ""

    def __call__(self, step: Step) -> None:
        text = str(step)
        if self.live.tasks and step.work == self.work:
            self.live.update(self.live.tasks[-1].id, description=text)
            return
        for task in self.live.tasks[-1:]:
            self.live.update(task.id, total=1, completed=1, description=self.work)
        self.work = step.work
        self.live.add_task(text, total=None)
