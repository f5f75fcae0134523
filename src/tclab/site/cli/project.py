"""Find the project that a command works on, and print the results of its runs. Several commands use
this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import click

from tclab.cli import terminal
from tclab.errors import SnippetError
from tclab.model import Run, Snippet
from tclab.site import run_views, snippets
from tclab.site.cli import selection
from tclab.site.engine import failures, schedule
from tclab.site.engine.plan import Plan
from tclab.site.store.local_runs import Store
from tclab.system.project import project_root


class Project:
    """The project that a command works on, with its plan and its snippets."""

    def __init__(self, root: Path, store: Store | None = None) -> None:
        self.root = root
        self.plan = Plan(root, store)

    # read the snippets on first use, because some commands, such as `lab`, need none
    @cached_property
    def _read_snippets(self) -> tuple[list[Snippet], dict[str, SnippetError]]:
        return snippets.read_all(self.root)

    @property
    def snippets(self) -> list[Snippet]:
        """The valid snippets."""
        return self._read_snippets[0]

    @property
    def unreadable(self) -> dict[str, SnippetError]:
        """The errors of the snippets that cannot be read, by name."""
        return self._read_snippets[1]

    def select(self, selectors: Sequence[str]) -> list[Snippet]:
        """Return the snippets that the `selectors` of a command line name, as `selection.select`
        reads them. Without selectors, return all snippets.

        Raises SnippetError if a named snippet cannot be read. Without selectors such errors are
        printed, and the other snippets are returned.
        """
        if not selectors:
            for error in dict.fromkeys(map(str, self.unreadable.values())):
                terminal.print_error(error)
        return selection.select(selectors, self.snippets, self.unreadable)

    def status(self, selectors: Sequence[str], runs: Iterable[Run] = ()) -> int:
        """Return the exit status of a command with these selectors: 1 if a run failed, or if there
        are no selectors and a snippet is unreadable; else 0.
        """
        return int(any(map(self._has_failed, runs)) or bool(self.unreadable and not selectors))

    def _has_failed(self, run: Run) -> bool:
        return not run.ok and not self.plan.is_replaced(run)


def open_project(context: click.Context) -> Project:
    """Open the project of a command."""
    return Project(project_root(context.find_root().obj))


@contextmanager
def print_results_at_end() -> Iterator[dict[str, Run]]:
    """Yield a dictionary for runs. At the end of the block print the results of its runs, even if
    saving failed.
    """
    runs: dict[str, Run] = {}
    try:
        yield runs
    except schedule.StoreFailed as trouble:
        print_results(trouble.runs)
        raise
    print_results(runs)


def print_results(runs: Mapping[str, Run]) -> None:
    """Print the table of results, then every failure with place, cause and next step."""
    terminal.console().print(run_views.result_table(runs))
    for run in runs.values():
        if not run.ok:
            terminal.print_error(failures.make_error(run))
