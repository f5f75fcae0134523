"""Choose the file of a report, and write it completely or not at all."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

from tclab import render
from tclab.errors import BadRequest, ExplainError
from tclab.explain import ExplainRequest, load
from tclab.model import Report
from tclab.render.report import brief, document
from tclab.system import files, streams

FORMATS: dict[str, Callable[[Report], str]] = {
    "html": document.html,
    "json": Report.to_json,
    "text": lambda report: render.text(report) + "\n",
    "brief": brief.text,
}


def choose_path(request: ExplainRequest, output: Path | None, format_: str) -> Path | None:
    """Return the path to which the report is written, or None for stdout. Raise BadRequest if the
    file cannot be written. The path is checked before anything compiles.
    """
    if output is None and format_ != "html":
        return None
    return require_writable(output or Path(default_name(request)))


def require_writable(output: Path) -> Path:
    """Return the path. Raises Raises BadRequest if a report cannot be written there."""
    folder = Path(os.path.realpath(output)).parent
    if not folder.is_dir():
        step = f"mkdir -p {shlex.quote(str(output.parent if not output.is_symlink() else folder))}"
        raise BadRequest(f"--output {output}", "there is no such folder", step)
    if not files.can_replace(output):
        what = "it" if output.exists() and not output.is_file() else "the folder"
        step = "choose another with --output"
        raise BadRequest(f"--output {output}", f"{what} cannot be written to", step)
    return output


def default_name(request: ExplainRequest) -> str:
    """Return the default name of a report, which includes the target: ``model-Block.html``,
    ``model-Block-h200.html``.
    """
    where, name = load.split(request.spec)
    device = f"-{request.target.name}" if request.target else ""
    return f"{Path(where).name.removesuffix('.py')}-{name}{device}.html"


def write(report: Report, path: Path | None, format_: str) -> None:
    """Write the report to a file or stdout."""
    write_text(FORMATS[format_](report), path)


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
    """Replace a file in one step. Raises ExplainError at `place` (default: --output) if that
    fails.
    """
    try:
        files.replace(path, content)
    except OSError as error:
        cause = f"it cannot be written: {error.strerror}"
        raise ExplainError(place or f"--output {path}", cause, step) from error
