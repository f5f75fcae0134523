"""Read the source of a lab: a notebook in jupytext's percent format, with marked solutions.

    # %% [markdown]
    # ## Exercise: close enough
    # %% tags=["exercise"]
    def close_enough(result, expected):
        ### BEGIN SOLUTION
        return torch.allclose(result, expected)
        ### END SOLUTION

Cells tagged ``try`` call what the reader writes; a check skips them. Cells tagged ``solved`` are
only on the solved page. Outputs come from ``print`` and ``tclab.show``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from tclab.errors import LabError
from tclab.model import Snippet, parse_source
from tclab.site import snippets
from tclab.site.snippets import claims

FOLDER = "docs/labs"
#: The folder in an installed wheel that has the labs, with the same layout as in the project.
SHIPPED = Path(__file__).with_name("shipped")
#: The percent format, as jupytext's `fmt`.
PERCENT = {"extension": ".py", "format_name": "percent"}
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"

_HEADER = re.compile(r"^# %%(?P<markdown> \[markdown\])?(?P<rest>.*)$")
_TAGS = re.compile(r"tags=\[(?P<tags>[^\]]*)\]")
_NAME = re.compile(r"lab(?P<number>\d)_(?P<topic>[a-z_]+)\.py")


@dataclass(frozen=True)
class Cell:
    """A cell of a lab. `line` is the line of the cell's header, and `text` is the cell's body; in a
    Markdown cell the ``#`` are removed.
    """

    kind: Literal["markdown", "code"]
    line: int
    text: str
    tags: tuple[str, ...] = ()

    @property
    def has_solution(self) -> bool:
        """Whether the cell contains a solution."""
        return BEGIN in self.text


@dataclass(frozen=True)
class Lab:
    """A lab: its number, its title, and the snippet that the engine runs."""

    number: int
    title: str
    snippet: Snippet

    @property
    def name(self) -> str:
        """The name of the lab's files without a suffix, such as ``lab1_backends``."""
        return self.snippet.path.stem

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(cells(self.snippet.source))


def cells(text: str) -> Iterator[Cell]:
    """Split a text in the percent format into cells. Text above the first header belongs to no
    cell.
    """
    header, body, start = None, list[str](), 0
    for number, line in enumerate([*text.split("\n"), "# %%"], 1):
        match = _HEADER.match(line)
        if match is None:
            body.append(line)
            continue
        if header is not None:
            yield _parse_cell(header, body, start)
        header, body, start = match, [], number


def _parse_cell(header: re.Match[str], body: list[str], line: int) -> Cell:
    tags = _TAGS.search(header["rest"])
    names = tuple(re.findall(r"[\w-]+", tags["tags"])) if tags else ()
    if header["markdown"]:
        return Cell("markdown", line, "\n".join(map(_strip_comment_mark, body)).rstrip(), names)
    return Cell("code", line, "\n".join(body).rstrip(), names)


def _strip_comment_mark(line: str) -> str:
    return line[2:] if line.startswith("# ") else line.removeprefix("#")


# --------------------------------------------------------------------------- finding


def find(root: Path) -> list[Lab]:
    """Read every lab of the project, in the order of their numbers."""
    paths = sorted((Path(root) / FOLDER).glob("lab*.py"))
    return [read(path, root) for path in paths]


def get(root: Path, number: int) -> Lab:
    """Read the lab with this number. Raises LabError, which names the numbers that exist, if there
    is none.
    """
    labs = {lab.number: lab for lab in find(root)}
    if number not in labs:
        numbers = ", ".join(map(str, labs)) or "none"
        raise LabError(f"lab {number}", "there is no such lab", f"there are: {numbers}")
    return labs[number]


def read(path: Path, root: Path) -> Lab:
    """Read one lab. Raises LabError or SnippetError, which names the line at fault."""
    place = path.relative_to(root).as_posix()
    name = _NAME.fullmatch(path.name)
    if name is None:
        raise LabError(place, "a lab's file is named lab1_topic.py", "rename it")
    source = path.read_text(encoding="utf-8-sig")
    _check_source(source, place)
    every = list(cells(source))
    title = next((cell.text.split("\n")[0] for cell in every if cell.text.startswith("# ")), "")
    title = title.lstrip("# ").partition("·")[2].strip() or name["topic"]
    snippet = Snippet(
        name=f"labs/{path.stem}",
        path=path.absolute(),
        title=title,
        caption="",
        source=source,
        claims=claims.find(parse_source(source), source, place),
        place=place,
        runner="tclab.site.labs.cells.run",
        includes=(Path(__file__).with_name("cells.py"),),
        **snippets.header(source, place),
    )
    return Lab(int(name["number"]), title, snippet)


def _check_source(source: str, place: str) -> None:
    """Raise LabError for invalid Python, and for markers of solutions that do not match."""
    try:
        parse_source(source)
    except SyntaxError as error:
        raise LabError(
            f"{place}:{error.lineno or 1}", f"SyntaxError: {error.msg}", "mend it"
        ) from None
    open_markers = 0
    for number, line in enumerate(source.split("\n"), 1):
        open_markers += (line.strip() == BEGIN) - (line.strip() == END)
        if open_markers not in (0, 1):
            step = f"each {BEGIN} wants one {END}"
            raise LabError(f"{place}:{number}", "the markers of solutions do not pair", step)
    if open_markers:
        raise LabError(place, f"a {BEGIN} is never closed", f"write {END}")
