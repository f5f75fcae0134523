"""Define ``tclab target-file``: write this machine's GPU to a file, as a target."""

from __future__ import annotations

from pathlib import Path

import click

from tclab.cli import EXIT_STATUS, terminal
from tclab.cli.output_file import replace_file
from tclab.targets import files


@click.command(epilog=EXIT_STATUS, short_help="Write this machine's GPU to a file.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), default="gpu.json")
def target_file(file: Path) -> None:
    """Write what the driver says of this machine's first NVIDIA GPU to FILE (default: gpu.json).

    On a machine without that GPU the file is a target: tclab explain --target FILE. Its name has
    to end with .json.

    \b
    Examples:
      tclab target-file                          on the machine with the GPU
      tclab explain model.py:f --target gpu.json on another one
    """
    if file.suffix.lower() != ".json":
        raise click.UsageError(f"{file}: the name of a target file ends with .json")
    from tclab.capturing.target import device

    text = files.text(device.this_device())
    replace_file(file, text, str(file), "name a file in another folder")
    name = files.read(str(file)).device
    terminal.print_note(f"{file} has the {name}; next, elsewhere: --target {file}")
