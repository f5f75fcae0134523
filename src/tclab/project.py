"""Where the project is: the folder with its pages, its snippets and its recordings."""

from __future__ import annotations

import os
from pathlib import Path


class NoProject(LookupError):
    """There is no project around a folder."""


def project_root(start: Path | None = None) -> Path:
    """The nearest folder upwards with ``mkdocs.yml`` and ``snippets/``, or TCLAB_ROOT.

    From `start`, else from the working folder, else from where tclab itself lies.
    """
    if start is None and (named := os.environ.get("TCLAB_ROOT")):
        return Path(named).resolve()
    starts = [start] if start else [Path.cwd(), Path(__file__)]
    for first in starts:
        for folder in (first.resolve(), *first.resolve().parents):
            if (folder / "mkdocs.yml").is_file() and (folder / "snippets").is_dir():
                return folder
    raise NoProject(f"no folder with mkdocs.yml and snippets/ at or above {starts[0]}")
