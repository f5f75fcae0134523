"""What the commands on a project share: the project itself, and how its runs are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import click

from tclab import snippets, terminal
from tclab.engine import failures, schedule
from tclab.engine.plan import Plan
from tclab.model import Run, Snippet

EXIT_STATUS = """\b
Exit status:
  0    done
  1    a snippet failed, or what was asked for is missing, stale or damaged
  2    the command line is wrong: an unknown name or option
  130  interrupted; everything that had finished is kept
"""


class Project:
    """The project a command works on, and how its snippets stand; looked up when needed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.plan = Plan(root)

    @cached_property
    def snippets(self) -> list[Snippet]:
        """Every snippet; a command that asks for none, as those on labs, reads none."""
        return snippets.find(self.root)


def project(context: click.Context) -> Project:
    """The project of this command, opened now."""
    opened: Project = context.obj()
    return opened


@contextmanager
def printing_results() -> Iterator[dict[str, Run]]:
    """A dictionary for runs; printed at the end, kept in the store or not."""
    runs: dict[str, Run] = {}
    try:
        yield runs
    except schedule.StoreFailed as trouble:
        print_results(trouble.runs)
        raise
    print_results(runs)


def print_results(runs: Mapping[str, Run]) -> None:
    """The table of results, then every failure with place, cause and next step."""
    terminal.console().print(terminal.result_table(runs))
    for run in runs.values():
        if not run.ok:
            terminal.error(failures.error(run))
