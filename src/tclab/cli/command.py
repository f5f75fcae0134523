"""Define the command ``tclab``. This module needs click and rich, and never imports torch.

Exit status: 0 done; 1 a snippet failed or something is missing; 2 the command line is wrong; 130
interrupted. A command with further statuses, such as ``check``, defines them in its module.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from tclab import __version__
from tclab.cli import EXIT_STATUS, terminal
from tclab.errors import TclabError
from tclab.system import files, paths, streams

#: Command → its ``module:function``, which is imported when the command is called.
COMMANDS = {
    "check": "tclab.cli.check:check",
    "diff": "tclab.cli.diff:diff",
    "explain": "tclab.cli.explaining.command:explain",
    "open": "tclab.cli.open:open_command",
    "target-file": "tclab.cli.target_file:target_file",
    "upgrade": "tclab.cli.upgrade:upgrade",
}
#: The commands of the site and the workshop. An installed tclab has no workshop, and may lack both.
HOUSES = ("tclab.site.cli", "tclab.workshop.cli")
#: The workshop's commands, for the error message of an installation without it.
WORKSHOP_COMMANDS = frozenset({"bench", "record-choices", "verify-target"})
_CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 92}


def table() -> Mapping[str, str]:
    """Return every command of the houses that are installed, in the form of `COMMANDS`."""
    commands = dict(COMMANDS)
    for house in HOUSES:
        try:
            commands.update(importlib.import_module(house).COMMANDS)
        except ModuleNotFoundError as error:
            if not house.startswith(error.name or " "):
                raise
    return commands


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted(table())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command; None if there is none. Raises TclabError for a command that needs a
        clone of the repository.
        """
        if place := table().get(cmd_name):
            module, _, name = place.partition(":")
            command: click.Command = getattr(importlib.import_module(module), name)
            return command
        if cmd_name in WORKSHOP_COMMANDS:
            step = "clone the project; there, pip install -e '.[explain]', or set PYTHONPATH=src"
            raise TclabError(f"tclab {cmd_name}", "is not in the wheel", step)
        return None


@click.group(cls=LazyGroup, context_settings=_CONTEXT_SETTINGS, epilog=EXIT_STATUS)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The project's folder, with mkdocs.yml and snippets/. Default: TCLAB_ROOT, or the "
    "nearest one at or above the working folder.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def tclab(context: click.Context, root: Path | None) -> None:
    """See what torch.compile does to code, by running it.

    A snippet is one Python file, snippets/TOPIC/WHAT_IT_SHOWS.py. Running it in a process of
    its own gives a run: what it printed, and the graphs, graph breaks, guards, kernels and
    tables it showed. Runs of this machine are kept in .tclab/; runs of machines that other
    people do not have are recorded in records/ENVIRONMENT/ and committed. The site shows both.

    SNIPPET is a name (graph_breaks/print_breaks_the_graph), a path to its file, a topic
    (graph_breaks), or any beginning of a name that only one snippet has (print_br).

    \b
    Examples:
      tclab list                            what there is, and how fresh
      tclab run                             whatever is stale
      tclab run graph_breaks --force        one topic, fresh or not
      tclab show print_breaks               a run, as text
      tclab claims                          sentences of the pages and what proves them
      tclab record h200-torch2.13           keep what only this machine can run
      tclab run --on local:4                on workers of Dask's; tclab worker starts one
      tclab explain my_model.py:forward     open a function of your own
      tclab target-file                     this GPU as a --target for a machine without it
      tclab diff h200.json a100.json        two of its reports, side by side
      tclab open traces/                    a real run's TORCH_TRACE and profiles
      tclab diff run1/ run2/                two runs, by their TORCH_TRACE
      tclab upgrade my_model.py:f --to 2.15.0   what another PyTorch makes of it
      tclab check compiled.toml             whether your compiles are as they were
      tclab lab start 1                     an exercise; tclab lab check 1 FILE
      tclab verify-target                   compare a target with the GPU that is here
      tclab bench --suite cpu               measure whether compiling pays here

    \b
    Environment:
      TCLAB_ROOT    the project's folder
      TCLAB_STORE   where runs are kept, instead of .tclab/
      NO_COLOR      no colours
    """
    context.obj = root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status. A TclabError is printed as one message, without a
    traceback.

    Without `arguments` the command reads the process's arguments, and runs the user's code in a
    child process.
    """
    streams.escape_unencodable_output()
    if arguments is not None:
        return _main(arguments)
    words = sys.argv[1:]
    own = words[: words.index("--")] if "--" in words else words
    if "explain" in own and "--watch" not in own:
        from tclab.cli.explaining import child

        return child.run(lambda: _main(words))
    return _main(words)


def _main(arguments: Sequence[str]) -> int:
    try:
        paths.set_temporary_folder()
        status: object = tclab.main(arguments, prog_name="tclab", standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        terminal.print_error("interrupted\n  next: the same command goes on where it stopped")
        return 130
    except TclabError as problem:
        terminal.print_error(problem)
        return problem.exit_status
    except BrokenPipeError:  # a reader such as `head` closes the pipe after a few lines
        os.dup2(os.open(os.devnull, os.O_WRONLY), streams.own_stdout().fileno())
        return 0
    except OSError as problem:
        if not files.is_disk_full_error(problem):
            raise
        if _is_stdout_full():
            terminal.print_error(f"stdout: {problem.strerror}\n  next: send stdout to another disk")
        else:
            terminal.print_error(f"tclab: {problem}\n  next: {files.disk_space_advice()}")
        return 1
    return status if isinstance(status, int) else 0


def _is_stdout_full() -> bool:
    """Return whether stdout does not even take the end of a line. Python has dropped by now what
    it could not write.
    """
    try:
        os.write(streams.own_stdout().fileno(), b"\n")
    except OSError as error:
        return files.is_disk_full_error(error)
    return False
