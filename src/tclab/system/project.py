"""Find the project: the folder with the pages, the snippets and the recordings."""

from __future__ import annotations

import os
from pathlib import Path

from tclab.errors import TclabError


class NoProject(TclabError, LookupError):
    """Raised if neither a folder nor a folder above it is a project."""

    exit_status = 2


def project_root(start: Path | None = None) -> Path:
    """Return the nearest folder with ``mkdocs.yml`` and ``snippets/``, searching upwards.

    The search begins at `start`. Without `start`, TCLAB_ROOT is the project if it is set; else the
    search begins at the working folder, and then at this file. Raises NoProject if there is no
    project, or if TCLAB_ROOT is not one.
    """
    lacks = "no folder with mkdocs.yml and snippets/"
    if start is None and (root := os.environ.get("TCLAB_ROOT")):
        if not _is_project(Path(root)):
            step = "name the project's folder in TCLAB_ROOT, or unset it and cd there"
            raise NoProject(f"TCLAB_ROOT={root}", f"is {lacks}", step)
        return Path(root).resolve()
    starts = [start] if start else [Path.cwd(), Path(__file__)]
    for first in starts:
        for folder in (first.resolve(), *first.resolve().parents):
            if _is_project(folder):
                return folder
    step = "cd to the project, or say --root FOLDER"
    raise NoProject(str(starts[0]), f"{lacks} here or above", step)


def _is_project(folder: Path) -> bool:
    return (folder / "mkdocs.yml").is_file() and (folder / "snippets").is_dir()
