"""Where a report goes, and writing it there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tclab import render
from tclab.errors import BadRequest, ExplainError
from tclab.explain import ExplainRequest, load
from tclab.model import Report
from tclab.render.report import document

MAKE: dict[str, Callable[[Report], str]] = {
    "html": document.html,
    "json": Report.to_json,
    "text": lambda report: render.text(report) + "\n",
}


def where_to(request: ExplainRequest, output: Path | None, format_: str) -> Path | None:
    """Where the report goes, None for stdout; known to be writable before anything is compiled."""
    if output is None and format_ != "html":
        return None
    output = output or Path(default_name(request))
    folder = output.parent
    if not folder.is_dir():
        raise BadRequest(f"--output {output}", "there is no such folder", f"mkdir -p {folder}")
    if not os.access(folder, os.W_OK):
        step = "choose another with --output"
        raise BadRequest(f"--output {output}", "the folder cannot be written to", step)
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
        sys.stdout.write(content)
    else:
        replace_file(path, content)


def replace_file(path: Path, content: str) -> None:
    """Write all of it or nothing: beside the file first, then in its place."""
    data = content.encode("utf-8", "backslashreplace")
    try:
        with _beside(path) as new:
            new.write_bytes(data)
            os.chmod(new, 0o666 & ~_umask())  # as any new file; mkstemp's are private
            os.replace(new, path)
    except OSError as error:
        raise ExplainError(
            f"--output {path}",
            f"it cannot be written: {error.strerror}",
            "choose another with --output",
        ) from error


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A new file in the same folder, gone afterwards unless it was moved."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
