"""A lab's one source: a notebook in jupytext's percent format, solutions between markers.

    # %% [markdown]
    # ## Exercise: close enough
    # %% tags=["exercise"]
    def close_enough(result, expected):
        ### BEGIN SOLUTION
        return torch.allclose(result, expected)
        ### END SOLUTION

Cells tagged ``try`` call what the reader writes: a check leaves them out. Those tagged ``solved``
are on the solved page alone. What a cell shows, it shows with ``print`` or ``tclab.show``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from tclab import claims, snippets
from tclab.errors import LabError
from tclab.model import Snippet, parsed

FOLDER = "docs/labs"
#: Where a wheel has them: a folder as the project's own.
SHIPPED = Path(__file__).with_name("shipped")
#: What jupytext calls a lab's form.
PERCENT = {"extension": ".py", "format_name": "percent"}
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"

_HEADER = re.compile(r"^# %%(?P<markdown> \[markdown\])?(?P<rest>.*)$")
_TAGS = re.compile(r"tags=\[(?P<tags>[^\]]*)\]")
_NAME = re.compile(r"lab(?P<number>\d)_(?P<topic>[a-z_]+)\.py")


@dataclass(frozen=True)
class Cell:
    """One cell. `line` is that of its header, `text` its body, Markdown without the ``#``."""

    kind: Literal["markdown", "code"]
    line: int
    text: str
    tags: tuple[str, ...] = ()

    @property
    def solved(self) -> bool:
        """Whether it has a solution in it."""
        return BEGIN in self.text


@dataclass(frozen=True)
class Lab:
    """A lab: its number, its title, and what the engine runs of it."""

    number: int
    title: str
    snippet: Snippet

    @property
    def name(self) -> str:
        """Such as ``lab1_backends``: its files are called so."""
        return self.snippet.path.stem

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(cells(self.snippet.source))


def cells(text: str) -> Iterator[Cell]:
    """The cells of a text in the percent format; what stands above the first is none."""
    header, body, start = None, list[str](), 0
    for number, line in enumerate([*text.split("\n"), "# %%"], 1):
        match = _HEADER.match(line)
        if match is None:
            body.append(line)
            continue
        if header is not None:
            yield _cell(header, body, start)
        header, body, start = match, [], number


def _cell(header: re.Match[str], body: list[str], line: int) -> Cell:
    tags = _TAGS.search(header["rest"])
    names = tuple(re.findall(r"[\w-]+", tags["tags"])) if tags else ()
    if header["markdown"]:
        return Cell("markdown", line, "\n".join(map(_uncommented, body)).rstrip(), names)
    return Cell("code", line, "\n".join(body).rstrip(), names)


def _uncommented(line: str) -> str:
    return line[2:] if line.startswith("# ") else line.removeprefix("#")


# --------------------------------------------------------------------------- finding


def find(root: Path) -> list[Lab]:
    """Every lab of the project, by number."""
    paths = sorted((Path(root) / FOLDER).glob("lab*.py"))
    return [read(path, root) for path in paths]


def get(root: Path, number: int) -> Lab:
    """The lab of this number. LabError says which there are."""
    labs = {lab.number: lab for lab in find(root)}
    if number not in labs:
        numbers = ", ".join(map(str, labs)) or "none"
        raise LabError(f"lab {number}", "there is no such lab", f"there are: {numbers}")
    return labs[number]


def read(path: Path, root: Path) -> Lab:
    """Read one lab. LabError or SnippetError with the line of what is wrong with it."""
    place = path.relative_to(root).as_posix()
    name = _NAME.fullmatch(path.name)
    if name is None:
        raise LabError(place, "a lab's file is named lab1_topic.py", "rename it")
    source = path.read_text(encoding="utf-8-sig")
    _check(source, place)
    every = list(cells(source))
    title = next((cell.text.split("\n")[0] for cell in every if cell.text.startswith("# ")), "")
    title = title.lstrip("# ").partition("·")[2].strip() or name["topic"]
    snippet = Snippet(
        name=f"labs/{path.stem}",
        path=path.absolute(),
        title=title,
        caption="",
        source=source,
        claims=claims.find(parsed(source), source, place),
        place=place,
        runner="tclab.labs.cells.run",
        includes=(Path(__file__).with_name("cells.py"),),
        **snippets.header(source, place),
    )
    return Lab(int(name["number"]), title, snippet)


def _check(source: str, place: str) -> None:
    try:
        parsed(source)
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
