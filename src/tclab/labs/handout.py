"""The exercise of a lab: its source without solutions, as a script and as a notebook."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tclab import __version__
from tclab.errors import LabError
from tclab.labs.exercises import HANDED_OUT
from tclab.labs.source import BEGIN, END, PERCENT, Cell, Lab

_RELEASE = re.compile(r"tclab: \{lab: (?P<lab>[\w-]+), release: (?P<release>[\w.+-]+)\}")
_BOUND = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\(claim:[^()\s]*\)")

#: The first cell: what to install, said where something is missing.
_SETUP = """# What this lab needs, and what to do where it is missing
import importlib.util

for package, step in {
    "torch": "%pip install torch",
    "tclab": "%pip install 'torch-compile-lab[labs]'",
}.items():
    if importlib.util.find_spec(package) is None:
        print(f"{package} is missing. Run in a cell: {step}")"""


def script(lab: Lab) -> str:
    """The exercise in the percent format."""
    header = _header(lab)
    cells = [("code", ("setup",), _SETUP), *_handed_out(lab), ("code", ("try",), _check(lab))]
    return header + "".join(_percent(*cell) for cell in cells)


def notebook(text: str) -> str:
    """A text in the percent format as a notebook; cell ids are their numbers."""
    nbformat, jupytext = installed("nbformat"), installed("jupytext")
    book = jupytext.reads(text, fmt=PERCENT)
    for number, cell in enumerate(book.cells):
        cell["id"] = f"cell-{number}"
    return f"{nbformat.writes(book, version=4)}\n"


def installed(package: str) -> ModuleType:
    """A package that turns scripts into notebooks and back. LabError where it is missing."""
    try:
        return importlib.import_module(package)
    except ImportError:
        cause = f"{package} is not installed, which exercises need to be notebooks, too"
        step = "pip install 'torch-compile-lab[labs]', or in a clone of the project '.[labs]'"
        raise LabError("tclab lab", cause, step) from None


def _header(lab: Lab) -> str:
    kernel = "{display_name: Python 3, language: python, name: python3}"
    about = f"{{lab: {lab.name}, release: {__version__}}}"
    return f"# ---\n# jupyter:\n#   kernelspec: {kernel}\n#   tclab: {about}\n# ---\n"


def _check(lab: Lab) -> str:
    return (
        "# Save this file, then check it. In a terminal the same without the first character.\n"
        f"# !tclab lab check {lab.number} {lab.name}.ipynb"
    )


def _handed_out(lab: Lab) -> Iterator[tuple[str, tuple[str, ...], str]]:
    for cell in lab.cells:
        if "solved" not in cell.tags:
            text = _BOUND.sub(r"\g<text>", cell.text) if cell.kind == "markdown" else stub(cell)
            yield cell.kind, cell.tags, text


_CLAIM = re.compile(r"^ *# claim:.*\n *assert .*(?:\n|$)", re.MULTILINE)


def stub(cell: Cell) -> str:
    """A cell's code with what is to be written in place of each solution. The asserts that prove
    the page's sentences are left out: they hold of its run, and times may differ elsewhere.
    """
    lines, inside = list[str](), False
    for line in _CLAIM.sub("", cell.text).split("\n"):
        if line.strip() == BEGIN:
            lines.append(line.replace(BEGIN, f'raise NotImplementedError("{HANDED_OUT}")'))
            inside = True
        elif line.strip() == END:
            inside = False
        elif not inside:
            lines.append(line)
    return "\n".join(lines).rstrip("\n")


def solution(cell: Cell, *, claims: bool = True) -> str:
    """A cell's code with its solution, without the markers and the names of claims; without
    `claims` their asserts are left out, too.
    """
    text = cell.text if claims else _CLAIM.sub("", cell.text)
    skipped = (BEGIN, END, "# claim:")
    lines = [line for line in text.split("\n") if not line.strip().startswith(skipped)]
    return "\n".join(lines).rstrip("\n")


def _percent(kind: str, tags: tuple[str, ...], text: str) -> str:
    named = f" tags={json.dumps(list(tags))}" if tags else ""
    mark = " [markdown]" if kind == "markdown" else ""
    body = [f"# {line}".rstrip() for line in text.split("\n")] if mark else text.split("\n")
    return f"\n# %%{mark}{named}\n" + "\n".join(body) + "\n"


# --------------------------------------------------------------------------- files


def write(lab: Lab, folder: Path) -> list[Path]:
    """The exercise as both files in `folder`. LabError, and nothing written, where one exists."""
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


def made_for(text: str) -> tuple[str, str]:
    """The lab and the release that a file was made for; '' where it does not say."""
    if match := _RELEASE.search(text):
        return match["lab"], match["release"]
    try:
        about = json.loads(text)["metadata"]["tclab"]
        return str(about["lab"]), str(about["release"])
    except (ValueError, KeyError, TypeError):
        return "", ""
