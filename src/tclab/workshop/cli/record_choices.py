"""Implement ``tclab record-choices``: record the choices that this machine's GPU makes by
timing.
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from tclab.cli import terminal
from tclab.errors import BadRequest, TclabError
from tclab.system import machine

EPILOG = """\b
Exit status:
  0    the file is written
  1    there is no GPU here, or PyTorch is missing
  2    the command line is wrong: a folder of no comparison
"""


@click.command(
    "record-choices", epilog=EPILOG, short_help="Record what this GPU chooses by timing."
)
@click.argument(
    "folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="A target reads records/h200-torch2.11/padding.json, named for its own name and PyTorch.",
)
@click.option("--repeats", type=click.IntRange(2), default=7, help="Timings of each. Default: 7.")
@click.pass_context
def record_choices(context: click.Context, folder: Path, out: Path, repeats: int) -> None:
    """Time the choices that Inductor makes by timing, and keep them with the spread of the timings.

    DIR is the folder of a comparison (tclab verify-target --out DIR). It lists the matrix products
    whose padding a GPU would time, by sizes, layouts and types. PyTorch's own code times each
    of them here, on a GPU that should do nothing else. A target then shows the kernels that such a
    GPU chose; a choice stays open unless its timings lie further from the limit than they vary.

    \b
    Example:
      tclab verify-target --out verified
      tclab record-choices verified --out records/h200-torch2.11/padding.json
    """
    if not machine.here().gpu:
        cause = "no NVIDIA GPU here to time on"
        raise TclabError("tclab record-choices", cause, "run it on a machine that has one")
    from tclab.workshop.verify import choices

    if not (keys := choices.read_keys(folder)):
        step = "name the folder of a comparison: tclab verify-target --out DIR"
        terminal.print_error(BadRequest(str(folder), "no product of a target's is in it", step))
        context.exit(2)
    written = choices.record(keys, out, repeats)
    count, seconds = len(written["products"]), written["seconds"]
    summary = f"of {len(keys)} products, {len(keys) - count} have symbols for sizes" if (
        count < len(keys)) else f"{count} products"  # fmt: skip
    terminal.console().print(escape(f"{out}: {summary}; {seconds} s"), soft_wrap=True)
