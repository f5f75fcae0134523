"""Where a report goes, and writing it there whole or not at all."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

from tclab import render
from tclab.errors import BadRequest, ExplainError
from tclab.explain import ExplainRequest, load
from tclab.model import Report
from tclab.render.report import document
from tclab.system import files, streams

MAKE: dict[str, Callable[[Report], str]] = {
    "html": document.html,
    "json": Report.to_json,
    "text": lambda report: render.text(report) + "\n",
}


def where_to(request: ExplainRequest, output: Path | None, format_: str) -> Path | None:
    """Where the report goes, None for stdout; known to be writable before anything is compiled."""
    if output is None and format_ != "html":
        return None
    return writable(output or Path(default_name(request)))


def writable(output: Path) -> Path:
    """The path, where a report can be written there. BadRequest where it cannot."""
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
    """``model-Block.html``, ``model-Block-h200.html``: one file for each target."""
    where, name = load.split(request.spec)
    device = f"-{request.target.name}" if request.target else ""
    return f"{Path(where).name.removesuffix('.py')}-{name}{device}.html"


def write(report: Report, path: Path | None, format_: str) -> None:
    """The report to a file or stdout."""
    put(MAKE[format_](report), path)


def put(content: str, path: Path | None) -> None:
    """What `MAKE` gave, to a file or stdout."""
    if path is None:
        _print(content)
    else:
        replace_file(path, content)


def _print(content: str) -> None:
    """To stdout. ExplainError where it takes no more, such as a file on a full disk."""
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
    """Write a file whole. ExplainError at `place` (default: --output) where that fails."""
    try:
        files.replace(path, content)
    except OSError as error:
        cause = f"it cannot be written: {error.strerror}"
        raise ExplainError(place or f"--output {path}", cause, step) from error
