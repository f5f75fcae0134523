"""Display the running step and its seconds while the reader waits. This module needs rich."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.markup import escape
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from tclab.cli import terminal
from tclab.explain import OnStep, Step, steps


class _SecondsColumn(ProgressColumn):
    """A column with the seconds that a step has taken."""

    def render(self, task: Task) -> Text:
        seconds = task.finished_time if task.finished else task.elapsed
        return Text(f"{seconds or 0:.0f} s", style="dim")


@contextmanager
def display_steps() -> Iterator[OnStep]:
    """Yield a callback for steps. Until the block ends, a terminal shows the finished steps and the
    running one, with seconds. A dumb terminal shows a line for each step, and a pipe nothing.
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
            _SecondsColumn(),
        )
        with Progress(*columns, console=out, transient=True) as live:
            yield _StepLines(live)


class _StepLines:
    """Shows a line for each step. The phases of a step (``compiling f: Inductor``) share its
    line.
    """

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
