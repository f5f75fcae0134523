"""Choose the file of a report, and write it completely or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tclab import render
from tclab.cli.output_file import require_writable, write_text
from tclab.explain import ExplainRequest, load
from tclab.model import Report
from tclab.render.report import assembly, brief, document

FORMATS: dict[str, Callable[[Report], str]] = {
    "html": document.html,
    "json": Report.to_json,
    "text": lambda report: render.text(report) + "\n",
    "brief": brief.text,
    "asm": assembly.text,
}


def choose_path(request: ExplainRequest, output: Path | None, format_: str) -> Path | None:
    """Return the path to which the report is written, or None for stdout. Raises BadRequest if the
    file cannot be written. The path is checked before anything compiles.
    """
    if output is None and format_ != "html":
        return None
    return require_writable(output or Path(default_name(request)))


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
