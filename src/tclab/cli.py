"""The command ``tclab``: list, run, record, show; the others are in commands/. Needs click and
rich; never imports torch.

Exit status: 0 done; 1 a snippet failed or something is missing; 2 the command line is
wrong; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from tclab import environment, recording, render, runner, selection, snippets, terminal
from tclab.commands.explain import explain
from tclab.commands.verify_target import verify_target
from tclab.errors import RunFailed, TclabError
from tclab.model import Provenance, Run, Snippet
from tclab.store import Store

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 92}

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
        self.here: Provenance = environment.here()

    def state(self, snippet: Snippet, name: str) -> str:
        """How a snippet's run stands in an environment: one word, or ``needs`` and what."""
        if name != "here":
            return recording.state(self.root, name, snippet)
        if missing := environment.missing_needs(snippet):
            return f"needs {','.join(sorted(missing))}"
        if self.store.is_fresh(snippet, self.here):
            return "fresh"
        if self.store.failed(snippet):
            return "failed"
        return "stale" if self.store.folder(snippet.name).exists() else "never"

    def stale(self, chosen: Sequence[Snippet], *, force: bool) -> list[Snippet]:
        """Of `chosen`, what has no fresh good run here."""
        return [s for s in chosen if force or not self.store.is_fresh(s, self.here)]


@click.group(context_settings=CONTEXT, epilog=STATUS)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The project's folder, with mkdocs.yml and snippets/. Default: TCLAB_ROOT, or the "
    "nearest one at or above the working folder.",
)
@click.version_option(package_name="tclab", message="%(prog)s %(version)s")
@click.pass_context
def tclab(context: click.Context, root: Path | None) -> None:
    """See what torch.compile does to code, by running it.

    A snippet is one Python file, snippets/TOPIC/WHAT_IT_SHOWS.py. Running it in a process of
    its own gives a run: what it printed, and the graphs, graph breaks, guards, kernels and
    tables it showed. Runs of this machine are kept in .tclab/; runs of machines that others
    lack are recorded in records/ENVIRONMENT/ and committed. The site shows both.

    SNIPPET is a name (graph_breaks/print_breaks_the_graph), a path to its file, a topic
    (graph_breaks), or any beginning of a name that only one snippet has (print_br).

    \b
    Examples:
      tclab list                            what there is, and how fresh
      tclab run                             whatever is stale
      tclab run graph_breaks --force        one topic, fresh or not
      tclab show print_breaks               a run, as text
      tclab record h200-torch2.13           keep what only this machine can run
      tclab explain my_model.py:forward     open a function of your own
      tclab verify-target                   compare a target with the GPU that is here

    \b
    Environment:
      TCLAB_ROOT    the project's folder
      TCLAB_STORE   where runs are kept, instead of .tclab/
      NO_COLOR      no colours
    """
    context.obj = lambda: Project(snippets.project_root(root))


def project(context: click.Context) -> Project:
    """The project of this command, opened now."""
    opened: Project = context.obj()
    return opened


# --------------------------------------------------------------------------- list


@tclab.command("list", epilog=STATUS, short_help="What there is, and how fresh.")
@click.argument("words", metavar="[SNIPPET]...", nargs=-1)
@click.option("--names", is_flag=True, help="Names only, one a line, for scripts.")
@click.pass_context
def list_(context: click.Context, words: tuple[str, ...], names: bool) -> None:
    """List snippets: what each needs, how fresh its runs are, what it shows.

    The column "here" is this machine; there is one more for each environment in records/.

    \b
    fresh         the run holds: same code, same PyTorch, same machine
    stale         something it depends on has changed since
    never         it has not been run
    failed        the last run failed; tclab show says how
    needs cuda    it cannot run here; the site shows a recording
    broken        a recording that is truncated or was edited
    -             not recorded there

    \b
    Examples:
      tclab list
      tclab list triton inductor
      tclab list --names | grep softmax
    """
    lab = project(context)
    chosen = selection.select(words, lab.snippets)
    if names:
        click.echo("\n".join(s.name for s in chosen))
        return
    environments = ["here", *recording.environments(lab.root)]
    terminal.console().print(terminal.snippet_table(chosen, environments, lab.state))


# --------------------------------------------------------------------------- run


@tclab.command(epilog=STATUS, short_help="Run what is stale.")
@click.argument("words", metavar="[SNIPPET]...", nargs=-1)
@click.option("-f", "--force", is_flag=True, help="Run what is fresh, too.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), metavar="N", envvar="TCLAB_JOBS",
    help="How many at a time. Default: TCLAB_JOBS, or one for each core.",
)  # fmt: skip
@click.pass_context
def run(context: click.Context, words: tuple[str, ...], force: bool, jobs: int | None) -> None:
    """Run snippets, each in a process of its own; by default whatever is stale.

    Those that need what this machine lacks (a GPU, say) are left out, unless they are named:
    then that is an error. A run that fails, hangs or eats memory ends alone; the others go
    on, and earlier results stay.

    \b
    Examples:
      tclab run
      tclab run snippets/dynamo/bytecode_is_rewritten.py
      tclab run triton --force --jobs 1
    """
    lab = project(context)
    chosen = selection.select(words, lab.snippets)
    able = runnable(chosen, named=bool(words))
    if len(able) < len(chosen):
        left_out = len(chosen) - len(able)
        terminal.note(f"{left_out} need{'s' * (left_out == 1)} what is not here: see tclab list")
    stale = lab.stale(able, force=force)
    if not stale:
        terminal.note(f"Nothing is stale: {terminal.plural(len(able), 'fresh run')}.")
        return
    with terminal.progress(len(stale)) as on_event, reporting(stale) as runs:
        runs.update(
            runner.run(
                stale, root=lab.root, store=lab.store, jobs=jobs, on_event=on_event, force=force
            )
        )
    if any(not r.ok for r in runs.values()):
        context.exit(1)


def runnable(chosen: Sequence[Snippet], *, named: bool) -> list[Snippet]:
    """What this machine can run; a named snippet that it cannot run is an error."""
    able = []
    for s in chosen:
        missing = environment.missing_needs(s)
        if not missing:
            able.append(s)
        elif named and len(chosen) == 1:
            raise RunFailed(
                f"snippets/{s.name}.py",
                f"needs {', '.join(sorted(missing))}, which is not here",
                f"see a recording: tclab show {s.name}; or run it on a machine that has it",
            )
    return able


@contextmanager
def reporting(chosen: Sequence[Snippet]) -> Iterator[dict[str, Run]]:
    """A dictionary for the runs of `chosen`; reported at the end, kept in the store or not."""
    runs: dict[str, Run] = {}
    try:
        yield runs
    except runner.StoreFailed as trouble:
        report(chosen, trouble.runs)
        raise
    report(chosen, runs)


def report(chosen: Sequence[Snippet], runs: Mapping[str, Run]) -> None:
    """The table of results, then every failure with place, cause and next step."""
    terminal.console().print(terminal.result_table(runs))
    for s in chosen:
        if s.name in runs and (failure := runs[s.name].failure):
            terminal.error(terminal.failure_text(s, failure))


# --------------------------------------------------------------------------- record


@tclab.command(epilog=STATUS, short_help="Keep this machine's runs for others.")
@click.argument("environment_name", metavar="ENVIRONMENT")
@click.argument("words", metavar="[SNIPPET]...", nargs=-1)
@click.option("-f", "--force", is_flag=True, help="Record anew what is fresh, too.")
@click.pass_context
def record(
    context: click.Context, environment_name: str, words: tuple[str, ...], force: bool
) -> None:
    """Run snippets on this machine and keep the results in records/ENVIRONMENT/.

    For machines that others lack. ENVIRONMENT names this one, for example h200-torch2.13.
    Without names: every snippet that needs a GPU, and all that ENVIRONMENT already has.
    Nothing else writes to records/. Commit what it wrote: plain files, each with the PyTorch,
    the device and the day it came from. A failed run is reported and not recorded; the former
    recording stays.

    Where click and rich are missing, python -m tclab record does the same with what PyTorch
    itself brings.

    \b
    Examples:
      tclab record h200-torch2.13
      tclab record h200-torch2.13 triton/softmax --force
      PYTHONPATH=src python -m tclab record a100-torch2.11
    """
    lab = project(context)
    chosen = selection.select(words, lab.snippets) if words else None
    shown = chosen or lab.snippets
    with terminal.progress(len(shown), "recording") as on_event, reporting(shown) as runs:
        runs.update(
            recording.record(
                lab.root, environment_name, chosen, force=force, on_event=on_event, store=lab.store
            )
        )
    if any(not r.ok for r in runs.values()):
        context.exit(1)


# --------------------------------------------------------------------------- show


@tclab.command(epilog=STATUS, short_help="A stored run, as text.")
@click.argument("word", metavar="SNIPPET")
@click.option("--env", "name", metavar="NAME", help="Here, or an environment of records/.")
@click.option("-a", "--artifact", metavar="NAME", help="Only this artifact.")
@click.pass_context
def show(context: click.Context, word: str, name: str | None, artifact: str | None) -> None:
    """Show a snippet's stored run as text: its stamp, output and artifacts.

    Without --env: the run of this machine, or else the recordings. Long output suits a pager:
    tclab show SNIPPET | less.

    \b
    Examples:
      tclab show print_breaks
      tclab show triton/softmax --env h200-torch2.13
      tclab show print_breaks --artifact breaks
    """
    lab = project(context)
    snippet = selection.one(word, lab.snippets)
    for number, shown in enumerate(stored_runs(lab, snippet, name)):
        if number:
            click.echo()
        click.echo(run_text(snippet, shown, artifact))


def stored_runs(lab: Project, snippet: Snippet, name: str | None) -> list[Run]:
    """The runs to show; RunFailed with the next step where there is none."""
    live = lab.store.failed(snippet) or lab.store.load(snippet)
    recorded = recording.load_all(lab.root, snippet)
    if name not in (None, "here"):
        found = [r for r in recorded if r.environment == name]
    else:
        found = [live] if live else [] if name else recorded
    if not found:
        step = (
            f"tclab run {snippet.name}"
            if name in (None, "here")
            else (f"tclab record {name} {snippet.name}, on that machine")
        )
        raise RunFailed(snippet.name, f"has no fresh run {f'in {name}' if name else 'here'}", step)
    return found


def run_text(snippet: Snippet, shown: Run, artifact: str | None) -> str:
    """A run, or one artifact of it, as text."""
    if artifact is None:
        return render.run_text(shown)
    try:
        return render.text(shown.artifact(artifact))
    except KeyError as error:
        raise RunFailed(snippet.name, str(error.args[0]), "choose one of those") from None


tclab.add_command(explain)
tclab.add_command(verify_target)


# --------------------------------------------------------------------------- running it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status. Every known problem is one message, no traceback."""
    try:
        status: Any = tclab.main(arguments, prog_name="tclab", standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        terminal.error("interrupted\n  next: the same command goes on where it stopped")
        return 130
    except selection.NotOne as problem:
        terminal.error(problem)
        return 2
    except TclabError as problem:
        terminal.error(problem)
        return 1
    except snippets.NoProject as problem:
        terminal.error(f"{problem}\n  next: cd to the project, or say --root FOLDER")
        return 2
    except BrokenPipeError:  # `| head`: what was wanted was read
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status if isinstance(status, int) else 0
