"""Make the files of a snippet that a reader can download: its unchanged .py, and an .ipynb."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from tclab.model import Snippet, Version, source_lines

#: Folder of the downloads within the site.
FOLDER = "downloads"

_INSTALL = (
    "# Once, if PyTorch and tclab are not there yet:\n"
    "# %pip install {pins}\n"
    "# %pip install torch-compile-lab    # tclab itself; in a clone of the project: -e ."
)


def script_path(snippet: Snippet) -> str:
    """Return the path of the .py in the site."""
    return f"{FOLDER}/{snippet.name}.py"


def notebook_path(snippet: Snippet) -> str:
    """Return the path of the .ipynb in the site."""
    return f"{FOLDER}/{snippet.name}.ipynb"


def download_files(snippet: Snippet, torch: str, triton: str) -> Iterator[tuple[str, str]]:
    """Yield (path in the site, content) for the script, the notebook and their local imports."""
    yield script_path(snippet), snippet.source
    yield notebook_path(snippet), notebook(snippet, torch, triton)
    yield from included_files(snippet)


def included_files(snippet: Snippet) -> Iterator[tuple[str, str]]:
    """Yield (path in the site, content) for each local file that the snippet imports or reads.

    Markdown pages that it reads are left out, because MkDocs would build the copies as pages.
    """
    for include in (path for path in snippet.includes if path.suffix != ".md"):
        yield f"{FOLDER}/{snippet.topic}/{_include_path(snippet, include)}", _read_text(include)


def _include_path(snippet: Snippet, include: Path) -> str:
    """Return the path of `include` relative to the script's folder, so that imports work. For a
    file outside of this folder, return only its name.
    """
    folder = snippet.path.parent
    is_inside = include.is_relative_to(folder)
    return include.relative_to(folder).as_posix() if is_inside else include.name


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def notebook(snippet: Snippet, torch: str = "", triton: str = "") -> str:
    """Return the snippet as a notebook (nbformat 4.5): its caption, the install lines, its code.

    Cell ids are digests of the cells, so the same snippet produces the same file.
    """
    pins = f"{_pin_version('torch', Version.parse(torch).public)} {_pin_version('triton', triton)}"
    install = _INSTALL.format(pins=pins)
    caption = f"# {snippet.title}\n\n{snippet.caption}".strip()
    cells = [_make_cell("markdown", caption), _make_cell("code", install)]
    for include in (path for path in snippet.includes if path.suffix == ".py"):
        head = f"%%writefile {_include_path(snippet, include)}\n"
        cells.append(_make_cell("code", head + _read_text(include)))
    cells.append(_make_cell("code", code_without_docstring(snippet)))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    data = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def code_without_docstring(snippet: Snippet) -> str:
    """Return the snippet's source without its docstring."""
    lines = source_lines(snippet.source)[snippet.code_start - 1 :]
    return "\n".join(lines).strip() + "\n"


def _pin_version(package: str, version: str) -> str:
    return f"{package}=={version}" if version else package


def _make_cell(kind: str, source: str) -> dict[str, object]:
    digest = hashlib.sha256(f"{kind}\n{source}".encode()).hexdigest()[:12]
    cell: dict[str, object] = {"cell_type": kind, "id": digest, "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": source.strip("\n").splitlines(keepends=True)}
