"""``tclab verify-target``: a target's kernels against those of the GPU that is here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from tclab import machine, terminal
from tclab.errors import BadRequest, TclabError
from tclab.targets import TARGETS, Target, TargetError, get

EPILOG = """\b
Exit status:
  0    no kernel differs; refusals are no difference
  1    a kernel differs; or there is no GPU here, or another one than the target
  2    the command line is wrong: an unknown function or target
  130  interrupted; with --out, what is done is kept
"""

_ERROR = re.compile(r"[\w.]+(Error|Exception|Failed)\b")

STYLES = {"identical": "green", "same kernels": "green", "refused": "yellow"}


@click.command("verify-target", epilog=EPILOG, short_help="Compare a target with the real GPU.")
@click.argument("names", metavar="[FUNCTION]...", nargs=-1)
@click.option("--target", "name", metavar="GPU", help="Default: the GPU that is here.")
@click.option(
    "-j", "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1,
    help="Processes at a time. Default: one a core.",
)  # fmt: skip
@click.option(
    "-o", "--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Keep the generated code of both sides and report.json here, and go on from what is "
    "there. Default: nothing is kept.",
)  # fmt: skip
@click.option("--diff", is_flag=True, help="Show how the code differs, function by function.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text",
    help="Of the report on stdout. Default: text.",
)  # fmt: skip
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
      different      a kernel differs
      refused        the target refuses it, and says why
      gpu failed     the compile on the GPU itself fails: nothing to compare
      failed         it compiles on the GPU only; crashed: its process died

    \b
    Examples:
      tclab verify-target                       the whole corpus on this GPU
      tclab verify-target reductions --diff     one family, with what differs
      tclab verify-target -o verified -j 4      keep both sides' code in verified/
    """
    try:
        target = _target(name)
        report = run(names, target, jobs, out)
    except (BadRequest, TargetError) as problem:
        terminal.error(problem)
        context.exit(2)
    if format_ == "json":
        click.echo(json.dumps(report, indent=1))
    else:
        show(report, target, diff=diff)
    if report["different"]:
        context.exit(1)


def _target(name: str | None) -> Target:
    """The target asked for, or that of the GPU here; TclabError where they are not the same."""
    wanted = get(name) if name else None
    here = machine.here().gpu
    if not here:
        raise TclabError("tclab verify-target", "no NVIDIA GPU here to compare with",
                         "run it on a machine that has one")  # fmt: skip
    found = next((t for t in TARGETS.values() if t.device == here), None)
    if wanted is None and found is None:
        known = ", ".join(t.device for t in TARGETS.values())
        raise TclabError(f"the GPU here, {here}", "is no known target", f"known: {known}")
    if wanted is not None and wanted.device != here:
        raise TclabError(f"target {wanted.name!r}", f"is the {wanted.device}; here is the {here}",
                         "leave --target out, or run it where that GPU is")  # fmt: skip
    return wanted or found  # type: ignore[return-value]


def run(names: Sequence[str], target: Target, jobs: int, out: Path | None) -> dict[str, Any]:
    """The report of `tclab.verify.compare`, made in a process of its own."""
    with ExitStack() as stack:
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        command = [sys.executable, "-m", "tclab.verify.compare", "--out", str(folder),
                   "--target", target.name, "--jobs", str(jobs), *names]  # fmt: skip
        done = subprocess.run(command, env=_environment(), capture_output=True, text=True,
                              check=False)  # fmt: skip
        report = folder / "report.json"
        if "no such function or family" in done.stderr:
            raise BadRequest("FUNCTION", done.stderr.strip().splitlines()[-1],
                             "leave it out to see all names in the report")  # fmt: skip
        if done.returncode not in (0, 1) or not report.exists():
            raise TclabError("tclab verify-target", done.stderr.strip()[-2000:] or "no report",
                             "is PyTorch with Triton installed?")  # fmt: skip
        return json.loads(report.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def _environment() -> dict[str, str]:
    """This process's variables; tclab is found where this process found it."""
    source = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path}


# --------------------------------------------------------------------------- showing


def show(report: dict[str, Any], target: Target, *, diff: bool) -> None:
    """Function by function, then the totals."""
    out = terminal.console()
    out.print(_table(report["functions"]))
    made = report["environment"]
    share = report["identical"] / report["kernels"] if report["kernels"] else 0
    out.print(
        f"[bold]{report['kernels']} kernels[/]: {report['identical']} identical ({share:.1%}), "
        f"{report['different']} different, {report['refused']} refused", soft_wrap=True,
    )  # fmt: skip
    versions = f"PyTorch {made['torch']}, Triton {made['triton']}, {made['gpu']} as {target.name}"
    out.print(f"[dim]{escape(versions)}, {report['seconds']} s[/]", soft_wrap=True)
    for row in report["functions"] if diff else ():
        if row["verdict"] not in ("identical", "refused") and row.get("reason"):
            out.print(f"\n[bold]{escape(row['name'])}[/]", soft_wrap=True)
            out.print(escape(row["reason"]), soft_wrap=True)


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("function", overflow="fold")
    table.add_column("kernels", justify="right")
    table.add_column("verdict")
    table.add_column("why", overflow="fold")
    for row in rows:
        style = STYLES.get(row["verdict"], "bold red")
        table.add_row(escape(row["name"]), str(row["kernels"]),
                      f"[{style}]{escape(row['verdict'])}[/]", escape(_why(row)))  # fmt: skip
    return table


def _why(row: dict[str, Any]) -> str:
    """The cause, or the first line that differs; nothing for what is identical."""
    lines = [line.strip() for line in (row.get("reason") or "").splitlines()]
    told = [line for line in lines if line and not line.startswith(("---", "+++", "@@"))]
    if not told or row["verdict"] == "identical":
        return ""
    errors = [line for line in told if _ERROR.match(line)]  # a traceback's last line
    return errors[-1] if errors else told[0]
