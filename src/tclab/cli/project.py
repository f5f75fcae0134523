"""What the commands on a project share: the project itself, and how its runs are told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import click

from tclab import snippets, terminal
from tclab.cli import selection
from tclab.engine import failures, schedule
from tclab.engine.plan import Plan
from tclab.errors import SnippetError
from tclab.model import Run, Snippet
from tclab.store.live import Store

EXIT_STATUS = """\b
Exit status:
  0    done
  1    a snippet failed, or what was asked for is missing, stale or damaged
  2    the command line is wrong: an unknown name or option
  130  interrupted; everything that had finished is kept
"""


class Project:
    """The project a command works on, and how its snippets stand; looked up when needed."""

    def __init__(self, root: Path, store: Store | None = None) -> None:
        self.root = root
        self.plan = Plan(root, store)

    @cached_property  # a command that asks for none, as those on labs, reads none
    def _survey(self) -> tuple[list[Snippet], dict[str, SnippetError]]:
        return snippets.survey(self.root)

    @property
    def snippets(self) -> list[Snippet]:
        """Every snippet that can be read."""
        return self._survey[0]

    @property
    def unreadable(self) -> dict[str, SnippetError]:
        """What is wrong with the others, by name."""
        return self._survey[1]

    def select(self, words: Sequence[str]) -> list[Snippet]:
        """The snippets that the words mean, all for no words. SnippetError where one of them
        cannot be read; without words it is told, and the others are chosen.
        """
        if not words:
            for error in dict.fromkeys(map(str, self.unreadable.values())):
                terminal.error(error)
        return selection.select(words, self.snippets, self.unreadable)

    def status(self, words: Sequence[str], runs: Iterable[Run] = ()) -> int:
        """The exit status of a command on these words: 1 where anything failed."""
        return int(any(not run.ok for run in runs) or bool(self.unreadable and not words))


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
