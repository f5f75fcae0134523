"""Write a report to the file that ``--output`` names, or to stdout: as a whole or not at all."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from tclab.errors import BadRequest, ExplainError
from tclab.system import files, streams


def require_writable(output: Path) -> Path:
    """Return the path of the output. Raises BadRequest if a report cannot be written to it."""
    folder = Path(os.path.realpath(output)).parent
    if not folder.is_dir():
        step = f"mkdir -p {shlex.quote(str(output.parent if not output.is_symlink() else folder))}"
        raise BadRequest(f"--output {output}", "there is no such folder", step)
    if not files.can_replace(output):
        what = "it" if output.exists() and not output.is_file() else "the folder"
        step = "choose another with --output"
        raise BadRequest(f"--output {output}", f"{what} cannot be written to", step)
    return output


def write_text(content: str, path: Path | None) -> None:
    """Write text, such as a report in one of `FORMATS`, to a file or stdout."""
    if path is None:
        _print(content)
    else:
        replace_file(path, content)


def _print(content: str) -> None:
    """Print to stdout. Raises ExplainError if that fails, as on a full disk."""
    out = streams.own_stdout()
    try:
        out.write(content)
        out.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        cause = f"the report cannot be written: {error.strerror}"
        raise ExplainError("stdout", cause, "name a file with --output") from error


def replace_file(
    path: Path, content: str, place: str = "", step: str = "choose another with --output"
) -> None:
    """Replace a whole file in one step. Raises ExplainError if that fails; its place is `place`, or
    the option --output if `place` is ''.
    """
    try:
        files.replace(path, content)
    except OSError as error:
        cause = f"it cannot be written: {error.strerror}"
        raise ExplainError(place or f"--output {path}", cause, step) from error
