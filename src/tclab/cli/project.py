"""What the commands on a project share: the project itself, and the report of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from tclab import machine, snippets, terminal
from tclab.engine import schedule
from tclab.model import Provenance, Run, Snippet
from tclab.store import recordings
from tclab.store.live import Store

STATUS = """\b
Exit status:
  0    done
  1    a snippet failed, or what was asked for is missing, stale or damaged
  2    the command line is wrong: an unknown name or option
  130  interrupted; everything that had finished is kept
"""


class Project:
    """The project a command works on, and this machine; each looked up once, when needed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = Store.of(root)
        self.snippets = snippets.find(root)
        self.here: Provenance = machine.here()

    def state(self, snippet: Snippet, name: str) -> str:
        """How a snippet's run stands in an environment: one word, or ``needs`` and what."""
        if name != "here":
            return recordings.state(self.root, name, snippet)
        if missing := machine.missing_needs(snippet):
            return f"needs {','.join(sorted(missing))}"
        if self.store.is_fresh(snippet, self.here):
            return "fresh"
        if self.store.failed(snippet):
            return "failed"
        return "stale" if self.store.folder(snippet.name).exists() else "never"

    def stale(self, chosen: Sequence[Snippet], *, force: bool) -> list[Snippet]:
        """Of `chosen`, what has no fresh good run here."""
        return [s for s in chosen if force or not self.store.is_fresh(s, self.here)]


def project(context: click.Context) -> Project:
    """The project of this command, opened now."""
    opened: Project = context.obj()
    return opened


@contextmanager
def reporting(chosen: Sequence[Snippet]) -> Iterator[dict[str, Run]]:
    """A dictionary for the runs of `chosen`; reported at the end, kept in the store or not."""
    runs: dict[str, Run] = {}
    try:
        yield runs
    except schedule.StoreFailed as trouble:
        report(chosen, trouble.runs)
        raise
    report(chosen, runs)


def report(chosen: Sequence[Snippet], runs: Mapping[str, Run]) -> None:
    """The table of results, then every failure with place, cause and next step."""
    terminal.console().print(terminal.result_table(runs))
    for s in chosen:
        if s.name in runs and (failure := runs[s.name].failure):
            terminal.error(terminal.failure_text(s, failure))
