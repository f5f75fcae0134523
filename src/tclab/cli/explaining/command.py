"""Define ``tclab explain``."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from tclab.cli import output_file, report_file, terminal
from tclab.cli.explaining import child, interrupts, steps
from tclab.cli.explaining.summary import print_summary, print_warnings
from tclab.cli.explaining.watch import watch
from tclab.errors import BadRequest, TclabError
from tclab.explain import ExplainRequest, Report, Step, WarningLog, explain_named, preload
from tclab.targets import TargetError

EPILOG = """\b
Exit status:
  0    the report is complete; graph breaks are part of it. With --watch: Ctrl-C ended it
  1    it cannot be imported, called or compiled; no report was written
  2    the command line is wrong: an unknown name, target, input, mode or option
  3    the report lacks something: what the target refused, or stages, such as the instructions
       of long or many kernels; it says which. Kernels marked open (see --assume) lack nothing
  130  interrupted; no report was written
"""


@click.command(epilog=EPILOG, short_help="Open a function of your own.")
@click.argument("spec", metavar="FILE.py:NAME")
@click.option(
    "--target",
    metavar="GPU",
    help="Make the kernels this GPU would get, without having it: h200, a100, sm_90 …, or "
    "a file of tclab target-file.",
)
@click.option(
    "--unverified",
    is_flag=True,
    help="Allow --target a GPU of AMD's (mi300x); no AMD device was compared.",
)
@click.option("--backward", is_flag=True, help="Differentiate what it returns, after each call.")
@click.option(
    "--eval", "eval_mode", is_flag=True, help="Put the module into eval mode, as for inference."
)
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
    "--assume",
    metavar="CHOICE=VALUE",
    multiple=True,
    help="With --target, what the GPU would time: pad=no, pad=yes, pad=both; of one product "
    "'pad: mm of [8, 64]=yes'. Default: as measured on such a GPU, else not padded.",
)
@click.option(
    "--long-kernels",
    is_flag=True,
    help="Take kernels of over 1,000 lines, and more than 40 C++ kernels of a graph, down to "
    "instructions, too, which can take minutes.",
)
@click.option(
    "--show-values",
    is_flag=True,
    help="Show what guards compare environment variables with, and other texts that may be tokens.",
)
@click.option(
    "--compare/--no-compare",
    default=None,
    help="Hold the results against those of eager PyTorch, which calls the function again, on "
    "copies. Default: on this machine; with --target this machine's compile is made for it.",
)
@click.option(
    "--measure",
    is_flag=True,
    help="Time the calls, compiled and in eager, in turns: does compiling pay? Run nothing else "
    "meanwhile.",
)
@click.option(
    "--measure-seconds",
    type=click.FloatRange(min=1),
    metavar="N",
    help="The most that --measure may take beside the report; what does not fit is left out. "
    "Default: 300.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=1),
    default=1200.0,
    metavar="N",
    help="The most that the report may take; not with --watch. Default: 1200.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Where to write. Default: FILE-NAME.html here, with the target FILE-NAME-GPU.html; "
    "other formats go to stdout.",
)
@click.option("--open", "open_", is_flag=True, help="Show the report in a browser.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(report_file.FORMATS)),
    default="html",
    help="Of the report. Default: html. brief is JSON of 4 KB: verdict, findings and fixes; asm is "
    "the kernels' instructions, marked with the lines of Python they came from.",
)
@click.option(
    "--watch",
    "watch_",
    is_flag=True,
    help="Serve the report to this machine alone, and make it anew when a file is saved.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="For --watch. Default: one that is free.",
)
@click.pass_context
def explain(
    context: click.Context,
    /,
    spec: str,
    output: Path | None,
    open_: bool,
    format_: str,
    watch_: bool,
    port: int,
    seconds: float,
    **words: Any,  # the arguments of ExplainRequest.parse
) -> None:
    """Compile a function of your own and report what torch.compile made of it.

    NAME is a function, an nn.Module (an instance, a class that needs no arguments, or a
    function that makes one), in a file or in a module: FILE.py:NAME or MODULE:NAME. The file is
    imported and the function is called, as your own program would do it.

    The report is one HTML file that needs nothing else: the kernels; your source with graph
    breaks, skipped frames, specialisations and recompiles at their lines; guards; compile time
    by phase; and for each graph every stage, line linked to line, from Python to the
    instructions of this processor and this GPU, or with --target of one that is not here. A
    summary is printed in any case.

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
      tclab explain my_model.py:Block --watch --open
      tclab explain my_model.py:loss --target h200 --backward
      tclab explain torch.nn.functional:gelu --input 'f32[8,1024]'
      tclab explain train.py:step --format json -o step.json
    """
    warnings = WarningLog()
    with _report_errors(context, warnings) as interrupted:
        unverified = words["unverified"]
        _check(open_=open_, format_=format_, watch_=watch_, port=port, unverified=unverified)
        request = ExplainRequest.parse(spec, **words)
        path = report_file.choose_path(request, output, format_)
        if watch_ and path is not None:
            watch(request, path, port=port, open_=open_)
            return
        child.limit_seconds(seconds)
        report, content = _make_report(request, warnings, format_, interrupted)
        output_file.write_text(content, path)
    if format_ != "text" or path is not None:
        print_summary(report, path)
    if open_ and path is not None:
        webbrowser.open(path.resolve().as_uri())
    if not report.complete:
        context.exit(3)


@contextmanager
def _report_errors(context: click.Context, warnings: WarningLog) -> Iterator[list[int]]:
    """Print an error of the block, then the collected warnings, and exit with the error's status.

    Yields the list of SIGINT signals, which grows as they arrive.
    """
    with interrupts.record_interrupts() as interrupted:
        try:
            yield interrupted
        except (KeyboardInterrupt, Exception) as problem:
            if isinstance(problem, KeyboardInterrupt) or interrupted:
                terminal.print_error("interrupted; no report was written")
                context.exit(130)
            if not isinstance(problem, TclabError):
                raise
            terminal.print_error(problem)
            print_warnings(warnings.texts)
            context.exit(2 if isinstance(problem, (BadRequest, TargetError)) else 1)


def _check(*, open_: bool, format_: str, watch_: bool, port: int, unverified: bool) -> None:
    """Raise BadRequest for options that exclude each other."""
    for option, given in (("--open", open_), ("--watch", watch_)):
        if given and format_ != "html":
            raise BadRequest(option, f"it shows HTML, not {format_}", "leave --format out")
    if watch_ and unverified:
        raise BadRequest(
            "--watch",
            "a report for AMD needs a process of its own",
            "leave --watch out",
        )
    if port and not watch_:
        raise BadRequest(f"--port {port}", "nothing is served without --watch", "add --watch")


def _make_report(
    request: ExplainRequest, warnings: WarningLog, format_: str, interrupted: list[int]
) -> tuple[Report, str]:
    """Return the report, and its text in the chosen format; display the steps meanwhile."""
    preload.exit_quickly()
    with steps.display_steps() as display:
        on_step = interrupts.stop_after_interrupt(interrupted, display)
        report = explain_named(request, on_step=on_step, warnings=warnings)
        on_step(Step("rendering the report"))
        return report, report_file.FORMATS[format_](report)
