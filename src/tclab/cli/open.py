"""Define ``tclab open``: read the traces and profiles of a real run, and show its findings, the
most important first.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

from tclab.cli import terminal
from tclab.cli.output_file import require_writable, write_text
from tclab.errors import BadRequest
from tclab.jobs import open_job
from tclab.model import Job
from tclab.render.job import page

_COMMAND_KEY = "tclab.cli.open: words of the command to run"
#: The signals that end a command, and the program that started it. Windows lacks one of them.
_END_SIGNALS = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]
_FORMATS: Mapping[str, Callable[[Job], str]] = {
    "html": page.html,
    "json": Job.to_json,
    "text": page.text,
}


class _WithCommand(click.Command):
    """A click command whose arguments after ``--`` are another command with its own options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words after ``--`` for the command, and parse those before it."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_COMMAND_KEY] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])


@click.command(
    name="open", cls=_WithCommand, short_help="What a real run left behind: what matters first."
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="PATH",
              help="Write the page or the JSON to this file.")  # fmt: skip
@click.option("--format", "format_", type=click.Choice(sorted(_FORMATS)),
              help="Default: html with --output or --open, else text.")  # fmt: skip
@click.option("--stages", "kernels", multiple=True, metavar="KERNEL",
              help="Compile the Triton kernels with this text in their name down to instructions, "
              "as a profile beside the trace says that they were launched. Needs PyTorch and "
              "Triton, and no GPU. May be given several times.")  # fmt: skip
@click.option("--replay", is_flag=True,
              help="Compile the graphs of the traces again, for the GPU that they name and without "
              "it, and say of each kernel whether it is the same as in the job. Needs PyTorch and "
              "Triton. Nothing of the traces is executed. The code of each graph is kept in the "
              "user's cache folder for the next time. A page has each graph's stages.")  # fmt: skip
@click.option("--graph", "graphs", multiple=True, metavar="ID",
              help="With --replay: only the graphs of this compile, such as 0/1; a page then has "
              "their stages down to instructions. May be given several times.")  # fmt: skip
@click.option(
    "--python",
    "pythons",
    multiple=True,
    metavar="PATH",
    help="With --replay: the Python whose PyTorch compiles; best the job's version. With --to, "
    "another one may have that PyTorch.",
)
@click.option(
    "--to",
    metavar="PYTORCH",
    help="With --replay: compare what this PyTorch makes of the graphs, said as for tclab upgrade: "
    "2.15.0. Where no --python has it, it gets an environment in your cache.",
)
@click.option("--open", "open_", is_flag=True, help="Show the page in a browser.")
@click.pass_context
def open_command(
    context: click.Context,
    paths: tuple[Path, ...],
    output: Path | None,
    format_: str | None,
    kernels: tuple[str, ...],
    replay: bool,
    graphs: tuple[str, ...],
    pythons: tuple[str, ...],
    to: str | None,
    open_: bool,
) -> None:
    """Read what a real run left behind: folders of TORCH_TRACE, their logs, profiles that PyTorch
    exported, compressed or in an archive. Neither PyTorch nor the machine of the run is needed.

    Instead of PATH, a command can follow ``--``: it runs with TORCH_TRACE set, and its traces are
    opened. The findings go to stderr, after the command's own output, with the folder in which the
    traces stay. Ctrl-C ends the command, and the traces that it wrote until then are opened.

    \b
    Ends with: 0 opened, 2 nothing to open; with a command, its own status.

    \b
    Examples:
      tclab open traces/                         the first screen, in the terminal
      tclab open traces/ profile.json.gz --open  a page in a browser
      tclab open -- python train.py              run it, then open it
      tclab open run1/ run2/                     why the second one missed the cache
      tclab open traces/ profile.json --stages triton_red_fused_3 -o page.html
      tclab open traces/ --replay                is what comes out what ran?
      tclab open traces/ --replay --to 2.15.0    what the next PyTorch makes of it
    """
    if open_ and output is None:
        first = paths[0].resolve().name.partition(".")[0] if paths else ""
        output = Path(f"{first or 'job'}.html")
        format_ = "html"
    format_ = format_ or ("html" if output else "text")
    command = context.meta[_COMMAND_KEY]
    status = 0
    try:
        if output is not None:
            require_writable(output)
        if command and paths:
            raise BadRequest("tclab open", "has paths and a command", "give one of them")
        if command:
            paths = (_make_trace_folder(),)
            status = _run(command, str(paths[0]))
            _require_traces(paths[0], command)
        elif not paths:
            step = "name a folder that TORCH_TRACE wrote, or -- and a command"
            raise BadRequest("tclab open", "there is nothing to open", step)
        context.with_resource(_without_collector())
        wanted = {"snapshots": format_ == "json", "stages": format_ == "html"}
        if graphs and not replay:
            raise BadRequest("--graph", "names a graph to compile again", "add --replay")
        if to and not replay:
            raise BadRequest("--to", "names a PyTorch to compile again with", "add --replay")
        again = graphs if replay else None
        python, other = _choose_pythons(pythons, to)
        job = open_job(paths, **wanted, kernels=kernels, replay=again, python=python, upgrade=other)
    except _NothingWritten as problem:
        terminal.print_error(problem)
        context.exit(status)
    except BadRequest as problem:
        terminal.print_error(problem)
        context.exit(status or 2)
    if output is not None and format_ == "html":
        _write_page(job, output)
    elif command and output is None:
        click.echo(_FORMATS[format_](job), err=True)  # stdout belongs to the command that ran
    else:
        write_text(_FORMATS[format_](job), output)
    if open_ and output is not None:
        import webbrowser  # slow to import

        webbrowser.open(output.resolve().as_uri())
    context.exit(status)


def _choose_pythons(pythons: Sequence[str], to: str | None) -> tuple[str, str]:
    """Return the Python that compiles graphs again, and the one with the PyTorch `to`; '' without
    it. Raises BadRequest if both are the same.
    """
    if not to:
        return (*pythons, sys.executable)[0], ""
    from tclab.cli.explaining import steps  # with what they import: most jobs lack it
    from tclab.cli.upgrade import find_python
    from tclab.upgrade import environments

    named = {environments.find_torch_version(python): python for python in pythons}
    build = environments.parse_build("--to", to)
    with steps.display_steps() as on_step:
        _, other = find_python(build, named, environments.EnvironmentMaker(), on_step)
    first = next((python for python in pythons if python != other), sys.executable)
    if first == other:
        step = "name the job's with --python PATH"
        raise BadRequest(f"--to {to}", "that is the PyTorch that compiles the graphs again", step)
    return first, other


@contextmanager
def _without_collector() -> Iterator[None]:
    """Turn off Python's garbage collector during the block. It looks for reference cycles, which
    the objects read from a trace do not have, and takes a tenth of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _write_page(job: Job, output: Path) -> None:
    """Write the page of a job, and the files beside it if the job is large."""
    for name, content in page.files(job, output.name):
        file = output.parent / name
        file.parent.mkdir(exist_ok=True)
        write_text(content, file)


class _NothingWritten(BadRequest):
    """Raised if a command has ended and compiled nothing."""


def _make_trace_folder() -> Path:
    """Return a new folder for traces, below TORCH_TRACE if that is set."""
    parent = os.environ.get("TORCH_TRACE") or None
    if parent:
        Path(parent).mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="tclab-trace-", dir=parent))


def _require_traces(folder: Path, command: Sequence[str]) -> None:
    """Print where the traces are. Raises _NothingWritten if the command compiled nothing."""
    if not any(folder.iterdir()):
        folder.rmdir()
        step = "see whether torch.compile is reached; tclab explain FILE.py says why not"
        raise _NothingWritten(command[0], "compiled nothing", step)
    terminal.print_note(f"the traces are in {folder}")


def _run(command: Sequence[str], folder: str) -> int:
    """Run a command, and return its exit status. If a signal ended the command, the status is 128
    plus the signal's number. Ctrl-C also reaches the command, so this function only waits for its
    end. Other signals are handed on to the command; a signal that comes again kills it.
    """
    child: subprocess.Popen[bytes] | None = None
    handed_on = set()

    def hand_on(number: int, _frame: FrameType | None) -> None:
        if child and number != signal.SIGINT:
            child.send_signal(signal.SIGKILL if number in handed_on else number)
            handed_on.add(number)

    # Set a handler, because the command would inherit an ignored signal.
    kept = {number: signal.getsignal(number) for number in _END_SIGNALS}
    try:
        for number, handler in kept.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, hand_on)
        child = subprocess.Popen(command, env={**os.environ, "TORCH_TRACE": folder})
        status = child.wait()
    except OSError as error:
        cause = f"cannot be run: {error.strerror}"
        raise BadRequest(command[0], cause, "check the command") from error
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
    sys.stdout.flush()
    return status if status >= 0 else 128 - status
