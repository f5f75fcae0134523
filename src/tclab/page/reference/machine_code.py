"""The instructions that the site's machine code has, in a line each, and where to see one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tclab.model import Artifact, Chain, Listing, Run, Table, encode
from tclab.page import fragments, state
from tclab.page.blocks import Block
from tclab.page.book import Book
from tclab.page.reference.groups import Entry, Group
from tclab.render import entries as rendered
from tclab.render.escape import Html
from tclab.render.viewer import instructions

_TITLES = {"ptx": "PTX instructions", "sass": "SASS instructions"}


@dataclass
class _Seen:
    """One opcode: with which modifiers it occurs, and on which pages."""

    forms: set[str] = field(default_factory=set)
    pages: dict[str, None] = field(default_factory=dict)


def html(block: Block, stage: str) -> Html:
    """A table of the opcodes of `stage` on the pages of the book."""
    book = state.build().book
    seen = _seen(book, stage)
    opcodes = _table(seen, stage)
    up = block.on.link("")
    links = {
        opcode: [_link(up, book.url(page)) for page in list(each.pages)[:2]]
        for opcode, each in seen.items()
    }
    block.on.groups.append(_group(opcodes))
    return rendered.html(opcodes, rendered.Extra(shown=links))


def table(book: Book, stage: str) -> Table:
    """The same as data: opcode, what it does, with which modifiers it occurs."""
    return _table(_seen(book, stage), stage)


def _table(seen: dict[str, _Seen], stage: str) -> Table:
    about = instructions.reference()[stage]["opcodes"]
    rows = tuple(
        (opcode, about.get(opcode), ", ".join(sorted(each.forms)))
        for opcode, each in sorted(seen.items())
    )
    columns = ("instruction", "what it does", "as it occurs here")
    return Table(_TITLES[stage], stage, columns, rows)


def _group(table: Table) -> Group:
    entries = (Entry(str(name), f"{about or ''} {forms}") for name, about, forms in table.rows)
    return Group(table.name, table.title, "", tuple(entries))


def _link(up: str, url: str) -> tuple[str, str]:
    return up + url, PurePosixPath(url).stem.replace("-", " ")


def _seen(book: Book, stage: str) -> dict[str, _Seen]:
    seen: dict[str, _Seen] = {}
    for use in book.uses:
        for run in book.runs.get(use.snippet, ()):
            for form in _forms(run, stage):
                each = seen.setdefault(form.split(".")[0], _Seen())
                each.forms.add(form)
                each.pages.setdefault(use.page)
    return seen


def _forms(run: Run, stage: str) -> list[str]:
    """The operations of a stage that a run's listings name, modifiers included; kept on disk."""
    listings = [each for artifact in run.artifacts for each in _listings(artifact, stage)]
    if not listings:
        return []
    text = fragments.cached(
        lambda: json.dumps(sorted(instructions.used(listings, stage))),
        "forms", stage, [encode(each) for each in listings],
    )  # fmt: skip
    forms: list[str] = json.loads(text)
    return forms


def _listings(artifact: Artifact, stage: str) -> Iterator[Listing]:
    if isinstance(artifact, Chain):
        yield from (pane for pane in artifact.panes if pane.stage == stage)
    elif isinstance(artifact, Listing) and artifact.stage == stage:
        yield artifact
