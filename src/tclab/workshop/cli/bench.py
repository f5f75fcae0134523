"""Offer `tclab.workshop.bench`, which also works without click, as ``tclab bench``."""

from __future__ import annotations

import click

from tclab.workshop.bench import command


@click.command(
    "bench",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
    short_help="Measure whether compiling pays here.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def bench(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Measure kernels and models in every mode; `tclab bench --help` says how."""
    context.exit(command.main(arguments))
