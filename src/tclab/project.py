"""Where the project is: the folder with its pages, its snippets and its recordings."""

from __future__ import annotations

import os
from pathlib import Path

from tclab.errors import TclabError


class NoProject(TclabError, LookupError):
    """There is no project in a folder, or around it."""


def project_root(start: Path | None = None) -> Path:
    """The nearest folder upwards with ``mkdocs.yml`` and ``snippets/``, or TCLAB_ROOT.

    From `start`, else from the working folder, else from where tclab itself lies. NoProject where
    there is none; where TCLAB_ROOT names none, nothing else is taken in its place.
    """
    lacks = "no folder with mkdocs.yml and snippets/"
    if start is None and (named := os.environ.get("TCLAB_ROOT")):
        if not _is_project(Path(named)):
            step = "name the project's folder in TCLAB_ROOT, or unset it and cd there"
            raise NoProject(f"TCLAB_ROOT={named}", f"is {lacks}", step)
        return Path(named).resolve()
    starts = [start] if start else [Path.cwd(), Path(__file__)]
    for first in starts:
        for folder in (first.resolve(), *first.resolve().parents):
            if _is_project(folder):
                return folder
    step = "cd to the project, or say --root FOLDER"
    raise NoProject(str(starts[0]), f"{lacks} here or above", step)


def _is_project(folder: Path) -> bool:
    return (folder / "mkdocs.yml").is_file() and (folder / "snippets").is_dir()
