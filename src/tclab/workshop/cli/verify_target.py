"""Implement ``tclab verify-target``: compare a target's kernels with those of this machine's
GPU.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from tclab.cli import terminal
from tclab.errors import BadRequest, TclabError
from tclab.system import machine
from tclab.targets import TARGETS, Target, TargetError, get
from tclab.workshop.verify import compare
from tclab.workshop.verify.results import ComparisonReport, FunctionRow
from tclab.workshop.verify.running import ComparisonOptions

EPILOG = """\b
Exit status:
  0    no kernel differs; refusals are no difference
  1    a kernel differs; or there is no GPU here, or another one than the target
  2    the command line is wrong: an unknown function or target
  130  interrupted; with --out, what is done is kept
"""

_ERROR = re.compile(r"[\w.]+(Error|Exception|Failed)\b")

STYLES = {
    "identical": "green",
    "same kernels": "green",
    "open": "green",
    "refused": "yellow",
    "refused in part": "yellow",
    "no kernels": "dim",
}


@click.command("verify-target", epilog=EPILOG, short_help="Compare a target with the real GPU.")
@click.argument("names", metavar="[FUNCTION]...", nargs=-1)
@click.option("--target", "name", metavar="GPU", help="Default: the GPU that is here.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1),
    default=os.cpu_count() or 1,
    help="Processes at a time. Default: one a core.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the generated code of both sides and report.json here, and go on from what is "
    "there. Default: nothing is kept.",
)
@click.option("--diff", is_flag=True, help="Show how the code differs, function by function.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Of the report on stdout. Default: text.",
)
@click.pass_context
def verify_target(
    context: click.Context,
    names: tuple[str, ...],
    name: str | None,
    jobs: int,
    out: Path | None,
    diff: bool,
    format_: str,
) -> None:
    """Compile functions for this GPU and for a target of its name, and compare the kernels.

    tclab.capture(fn, target="h200") promises the kernels the GPU would get, or a refusal. Here
    the promise is checked on a machine that has the GPU, by the PyTorch that is installed: every
    function of a corpus is compiled on the GPU and, in a process that sees no GPU, for the
    target. Kernels are compared as text; nothing is left out. Nothing is timed.

    FUNCTION is one of the corpus (reductions/softmax) or a family (reductions); all by default.

    \b
    Each function is
      identical      its kernels and the code that calls them are the same
      same kernels   the kernels are the same, the calling code is not
      open           the GPU timed something: kernels shown as exact are the same, and
                     each other one is one of those that are shown
      no kernels     neither side generates one
      different      a kernel differs
      refused        the target refuses it, and says why; in part: the rest is the same
      gpu failed     the compile on the GPU itself fails: nothing to compare
      failed         it compiles on the GPU only; crashed: its process died

    \b
    Examples:
      tclab verify-target                       the whole corpus on this GPU
      tclab verify-target reductions --diff     one family, with what differs
      tclab verify-target -o verified -j 4      keep both sides' code in verified/
    """
    try:
        target = _choose_target(name)
        report = compare_with_gpu(names, target, jobs, out)
    except (BadRequest, TargetError) as problem:
        terminal.print_error(problem)
        context.exit(2)
    if format_ == "json":
        click.echo(json.dumps(report, indent=1))
    else:
        print_report(report, target, diff=diff)
    if report["different"]:
        context.exit(1)


def _choose_target(name: str | None) -> Target:
    """Return the target called `name`, by default that of this GPU. Raises TclabError if this GPU
    is not the named one.
    """
    named = get(name) if name else None
    here = machine.here().gpu
    if not here:
        step = "run it on a machine that has one"
        raise TclabError("tclab verify-target", "no NVIDIA GPU here to compare with", step)
    if named is None:
        return _find_target(here)
    if named.device != here:
        cause = f"is the {named.device}; here is the {here}"
        step = "leave --target out, or run it where that GPU is"
        raise TclabError(f"target {named.name!r}", cause, step)
    return named


def _find_target(device: str) -> Target:
    for target in TARGETS.values():
        if target.device == device:
            return target
    known = ", ".join(target.device for target in TARGETS.values())
    raise TclabError(f"the GPU here, {device}", "is no known target", f"known: {known}")


def compare_with_gpu(
    names: Sequence[str], target: Target, jobs: int, out: Path | None
) -> ComparisonReport:
    """Compare functions and return the report; keep the results in `out`, if given."""
    with ExitStack() as stack:
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        return compare.compare_all(names, ComparisonOptions("functions", target.name, folder, jobs))


# --------------------------------------------------------------------------- output


def print_report(report: ComparisonReport, target: Target, *, diff: bool) -> None:
    """Print the report as a table of functions, then the totals."""
    out = terminal.console()
    out.print(_make_table(report["functions"]))
    out.print(_format_totals(report), soft_wrap=True)
    made = report["environment"]
    versions = f"PyTorch {made['torch']}, Triton {made['triton']}, {made['gpu']} as {target.name}"
    out.print(f"[dim]{escape(versions)}, {report['seconds']} s[/]", soft_wrap=True)
    for row in report["functions"] if diff else ():
        if row["verdict"] not in ("identical", "refused") and row["reason"]:
            out.print(f"\n[bold]{escape(row['name'])}[/]", soft_wrap=True)
            out.print(escape(row["reason"]), soft_wrap=True)


def _format_totals(report: ComparisonReport) -> str:
    kernels, identical = report["kernels"], report["identical"]
    share = identical / kernels if kernels else 0
    either = f"{report['either']} open, " if report["either"] else ""
    counts = f"{identical} identical ({share:.1%}), {either}{report['different']} different"
    return f"[bold]{kernels} kernels[/]: {counts}, {report['refused']} refused"


def _make_table(rows: Sequence[FunctionRow]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("function", overflow="fold")
    table.add_column("kernels", justify="right")
    table.add_column("verdict")
    table.add_column("why", overflow="fold")
    for row in rows:
        style = STYLES.get(row["verdict"], "bold red")
        verdict = f"[{style}]{escape(row['verdict'])}[/]"
        table.add_row(
            escape(row["name"]), str(row["kernels"]), verdict, escape(_shorten_reason(row))
        )
    return table


def _shorten_reason(row: FunctionRow) -> str:
    """Return the error, or the first line that differs; '' if both sides are identical."""
    lines = [line.strip() for line in row["reason"].splitlines()]
    content = [line for line in lines if line and not line.startswith(("---", "+++", "@@"))]
    if not content or row["verdict"] == "identical":
        return ""
    # lines with the error at the end of a traceback
    errors = [line for line in content if _ERROR.match(line)]
    return errors[-1] if errors else content[0]
