"""``tclab explain``: a reader's own function, opened."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tclab import terminal
from tclab.errors import BadRequest, ExplainError
from tclab.explain import Report, explain_named, load, page
from tclab.targets import TargetError

EPILOG = """\b
Exit status:
  0    done; graph breaks and refusals of a target are part of a report
  1    it cannot be imported, called or compiled; no report was written
  2    the command line is wrong: an unknown name, target, input or option
  130  interrupted; no report was written
"""


@click.command(epilog=EPILOG, short_help="Open a function of your own.")
@click.argument("spec", metavar="FILE.py:NAME")
@click.option(
    "--target",
    metavar="GPU",
    help="Make the kernels this GPU would get, without having it: h200, a100, sm_90 …",
)
@click.option("--backward", is_flag=True, help="Differentiate what it returns, after each call.")
@click.option(
    "-i",
    "--input",
    "inputs",
    metavar="SPEC",
    multiple=True,
    help="One argument, in order; NAME=SPEC for a keyword. Instead of example_inputs().",
)
@click.option(
    "--option",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    help="Of torch.compile: mode, dynamic, fullgraph, or one of Inductor's, as its options=.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Where to write. Default: FILE-NAME.html here; json and text go to stdout.",
)
@click.option("--open", "open_", is_flag=True, help="Show the report in a browser.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["html", "json", "text"]),
    default="html",
    help="Of the report. Default: html.",
)
@click.pass_context
def explain(
    context: click.Context,
    spec: str,
    target: str | None,
    backward: bool,
    inputs: tuple[str, ...],
    options: tuple[str, ...],
    output: Path | None,
    open_: bool,
    format_: str,
) -> None:
    """Compile a function of your own and report what torch.compile made of it.

    NAME is a function, an nn.Module (an instance, a class that needs no arguments, or a
    function that makes one), in a file or in a module: FILE.py:NAME or MODULE:NAME. The file is
    imported and the function is called, as your own program would do it.

    The report is one HTML file that needs nothing else: your source with graph breaks, skipped
    frames, specialisations and recompiles at their lines; guards; compile time by phase; and
    for each graph every stage, line linked to line, from Python to the instructions of this
    processor and this GPU, or with --target of one that is not here. A summary is printed in
    any case.

    \b
    Inputs come from the file's example_inputs(), which takes nothing and returns
      a tuple of arguments           one call
      a list of such tuples          several calls, to see recompiles
    or from the command line, one --input for each argument:
      f32[8,1024]     normal random numbers (f64, f32, f16, bf16, f8e4m3fn, f8e5m2)
      i64[8,16]<1000  integers from 0 to 999 (i64, i32, i16, i8, u8); b8 is bool
      3, True, "'x'"  Python literals
      mask=b8[8]      a keyword argument

    \b
    Examples:
      tclab explain my_model.py:Block --open
      tclab explain my_model.py:loss --target h200 --backward
      tclab explain torch.nn.functional:gelu --input 'f32[8,1024]'
      tclab explain train.py:step --format json -o step.json
    """
    try:
        if open_ and format_ != "html":
            raise BadRequest("--open", f"shows HTML, not {format_}", "leave --format out")
        path = _where_to(spec, output, format_)
        shown = explain_named(
            spec, target=target, backward=backward, inputs=inputs, options=options
        )
        _write(shown, path, format_)
    except KeyboardInterrupt:
        terminal.error("interrupted; no report was written")
        context.exit(130)
    except (BadRequest, TargetError) as problem:
        terminal.error(problem)
        context.exit(2)
    if open_ and path is not None:
        webbrowser.open(path.resolve().as_uri())


# --------------------------------------------------------------------------- writing


def _where_to(spec: str, output: Path | None, format_: str) -> Path | None:
    """Where the report goes, None for stdout; known to be writable before anything is compiled."""
    if output is None and format_ != "html":
        return None
    if output is None:
        where, name = load.split(spec)
        output = Path(f"{Path(where).name.removesuffix('.py')}-{name}.html")
    folder = output.parent
    if not folder.is_dir():
        raise BadRequest(f"--output {output}", "there is no such folder", f"mkdir -p {folder}")
    if not os.access(folder, os.W_OK):
        raise BadRequest(f"--output {output}", "the folder cannot be written to",
                         "choose another with --output")  # fmt: skip
    return output


def _write(shown: Report, path: Path | None, format_: str) -> None:
    """The report to a file or stdout, the summary to the terminal."""
    make = {"html": page.html, "json": Report.to_json, "text": page.text}
    content = make[format_](shown)
    if path is None:
        sys.stdout.write(content)
    else:
        replace_file(path, content)
    if format_ == "json" or path is not None:
        print_summary(shown, path)


def replace_file(path: Path, content: str) -> None:
    """Write all of it or nothing: beside the file first, then in its place."""
    data = content.encode("utf-8", "backslashreplace")
    try:
        with _beside(path) as new:
            new.write_bytes(data)
            os.chmod(new, 0o666 & ~_umask())  # as any new file; mkstemp's are private
            os.replace(new, path)
    except OSError as error:
        raise ExplainError(f"--output {path}", f"it cannot be written: {error.strerror}",
                           "choose another with --output") from error  # fmt: skip


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A new file in the same folder, gone afterwards unless it was moved."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# --------------------------------------------------------------------------- summary


def print_summary(shown: Report, path: Path | None) -> None:
    """Counts, breaks, recompiles and a refusal; on stderr where stdout has the report."""
    out = terminal.console(stderr=path is None)
    out.print(f"[bold]{escape(shown.title)}[/] {escape(_device(shown))}", soft_wrap=True)
    for number, call in enumerate(shown.calls, 1):
        out.print(f"  call {number}: {escape(call or 'no arguments')}", soft_wrap=True)
    for remark in shown.remarks:
        out.print(f"  [dim]{escape(remark)}[/]", soft_wrap=True)
    out.print(_counts(shown))
    out.print(f"Compiled in {float(shown.times.rows[-1][-1] or 0):.1f} s.")
    _print_notes(out, shown)
    if shown.refusal:
        out.print(f"[bold yellow]refused:[/] {escape(page.refusal_text(shown))}", soft_wrap=True)
        out.print(f"  next: {escape(shown.refusal[2])}", soft_wrap=True)
    if path is not None:
        out.print(f"[green]wrote[/] {escape(str(path))}, {path.stat().st_size / 1e6:.1f} MB",
                  soft_wrap=True)  # fmt: skip


def _device(shown: Report) -> str:
    return f"for {shown.target}" if shown.target else "on this machine"


def _counts(shown: Report) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    for what, count in shown.summary.rows:
        table.add_row(str(count), str(what))
    return table


#: A terminal shows so many notes; the report has them all.
_MOST = 20


def _print_notes(out: Console, shown: Report) -> None:
    """Breaks, skips and recompiles at their lines."""
    wanted = ("graph break", "skipped", "recompile")
    notes = [(s.filename, n) for s in shown.sources for n in s.notes if n.label in wanted]
    for file, note in notes[:_MOST]:
        said = f"[yellow]{note.label}[/] {escape(f'{file}:{note.line}')}  {escape(note.text)}"
        out.print(said, soft_wrap=True)
    if len(notes) > _MOST:
        out.print(f"… and {len(notes) - _MOST} more in the report")
