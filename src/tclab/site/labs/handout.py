"""Hand out a lab: its source without the solutions, as a script and as a notebook."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tclab import __version__
from tclab.errors import LabError
from tclab.site.labs.exercises import UNSOLVED
from tclab.site.labs.source import BEGIN, END, PERCENT, Cell, Lab

_RELEASE = re.compile(r"tclab: \{lab: (?P<lab>[\w-]+), release: (?P<release>[\w.+-]+)\}")
#: A sentence that is bound to a claim: [Text.](claim:topic/snippet#name).
_BOUND = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\(claim:[^()\s]*\)")

#: The first cell, which names the missing packages and how to install them.
_SETUP = """# What this lab needs, and what to do where it is missing
import importlib.util

for package, step in {
    "torch": "%pip install torch",
    "tclab": "%pip install 'torch-compile-lab[labs]'",
}.items():
    if importlib.util.find_spec(package) is None:
        print(f"{package} is missing. Run in a cell: {step}")"""


def script(lab: Lab) -> str:
    """Return the exercise as text in the percent format."""
    header = _make_header(lab)
    cells = [
        ("code", ("setup",), _SETUP),
        *_exercise_cells(lab),
        ("code", ("try",), _check_cell(lab)),
    ]
    return header + "".join(_percent_cell(*cell) for cell in cells)


def notebook(text: str) -> str:
    """Convert a text in the percent format to a notebook; the id of a cell is its number."""
    nbformat, jupytext = import_package("nbformat"), import_package("jupytext")
    book = jupytext.reads(text, fmt=PERCENT)
    for number, cell in enumerate(book.cells):
        cell["id"] = f"cell-{number}"
    return f"{nbformat.writes(book, version=4)}\n"


def import_package(package: str) -> ModuleType:
    """Import one of the packages for notebooks. Raises LabError if it is not installed."""
    try:
        return importlib.import_module(package)
    except ImportError:
        cause = f"{package} is not installed, which exercises need to be notebooks, too"
        step = "pip install 'torch-compile-lab[labs]', or in a clone of the project '.[labs]'"
        raise LabError("tclab lab", cause, step) from None


def _make_header(lab: Lab) -> str:
    kernel = "{display_name: Python 3, language: python, name: python3}"
    about = f"{{lab: {lab.name}, release: {__version__}}}"
    return f"# ---\n# jupyter:\n#   kernelspec: {kernel}\n#   tclab: {about}\n# ---\n"


def _check_cell(lab: Lab) -> str:
    return (
        "# Save this file, then check it. In a terminal the same without the first character.\n"
        f"# !tclab lab check {lab.number} {lab.name}.ipynb"
    )


def _exercise_cells(lab: Lab) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield kind, tags and text of the lab's cells, without those that are only for the solved
    page.
    """
    for cell in lab.cells:
        if "solved" not in cell.tags:
            text = _BOUND.sub(r"\g<text>", cell.text) if cell.kind == "markdown" else stub(cell)
            yield cell.kind, cell.tags, text


_CLAIM_ASSERT = re.compile(r"^ *# claim:.*\n *assert .*(?:\n|$)", re.MULTILINE)


def stub(cell: Cell) -> str:
    """Return a cell's code with a ``raise NotImplementedError`` in place of each solution. Asserts
    that are bound to sentences of the page are removed, because they hold for the page's run but
    not for the times of every machine.
    """
    lines, inside = list[str](), False
    for line in _CLAIM_ASSERT.sub("", cell.text).split("\n"):
        if line.strip() == BEGIN:
            lines.append(line.replace(BEGIN, f'raise NotImplementedError("{UNSOLVED}")'))
            inside = True
        elif line.strip() == END:
            inside = False
        elif not inside:
            lines.append(line)
    return "\n".join(lines).rstrip("\n")


def solution(cell: Cell, *, claims: bool = True) -> str:
    """Return a cell's code with its solution, but without the markers and the names of claims.
    Without `claims` the asserts of the claims are removed, too.
    """
    text = cell.text if claims else _CLAIM_ASSERT.sub("", cell.text)
    skipped = (BEGIN, END, "# claim:")
    lines = [line for line in text.split("\n") if not line.strip().startswith(skipped)]
    return "\n".join(lines).rstrip("\n")


def _percent_cell(kind: str, tags: tuple[str, ...], text: str) -> str:
    """Return a cell in the percent format, with its header."""
    named = f" tags={json.dumps(list(tags))}" if tags else ""
    mark = " [markdown]" if kind == "markdown" else ""
    body = [f"# {line}".rstrip() for line in text.split("\n")] if mark else text.split("\n")
    return f"\n# %%{mark}{named}\n" + "\n".join(body) + "\n"


# --------------------------------------------------------------------------- files


def write(lab: Lab, folder: Path) -> list[Path]:
    """Write both files of the exercise into `folder`. Raises LabError, and writes nothing, if one
    of them exists.
    """
    paths = [folder / f"{lab.name}{suffix}" for suffix in (".py", ".ipynb")]
    if existing := [path.name for path in paths if path.exists()]:
        step = f"name another folder: tclab lab start {lab.number} FOLDER; nothing is overwritten"
        raise LabError(str(folder), f"{' and '.join(existing)} is there already", step)
    text = script(lab)
    contents = text, notebook(text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in zip(paths, contents):
            with path.open("x", encoding="utf-8") as file:
                file.write(content)
    except OSError as error:
        cause = f"cannot be written: {error.strerror or error}"
        raise LabError(str(folder), cause, "name a folder that is yours") from None
    return paths


def lab_and_release(text: str) -> tuple[str, str]:
    """Return the lab to which a file belongs, and the tclab release that wrote the file. Either is
    '' if the file does not state it.
    """
    if match := _RELEASE.search(text):
        return match["lab"], match["release"]
    try:
        about = json.loads(text)["metadata"]["tclab"]
        return str(about["lab"]), str(about["release"])
    except (ValueError, KeyError, TypeError):
        return "", ""
