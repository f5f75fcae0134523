"""List the instructions in the site's machine code, and the pages that show them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tclab.model import Artifact, Chain, Listing, Run, Table, encode
from tclab.render import entries as rendered
from tclab.render.escape import Html
from tclab.render.viewer import instructions
from tclab.site.pages import fragments, state
from tclab.site.pages.book import Book
from tclab.site.pages.reference.groups import Entry, Group
from tclab.site.pages.rendering import RunningBlock

_TITLES = {"ptx": "PTX instructions", "sass": "SASS instructions"}


@dataclass
class _OpcodeUse:
    """The forms of one opcode (with modifiers), and the pages that show it."""

    forms: set[str] = field(default_factory=set)
    pages: dict[str, None] = field(default_factory=dict)


def html(block: RunningBlock, stage: str) -> Html:
    """Render a table of the opcodes of `stage` on the pages of the book."""
    book = state.build().book
    seen = _collect_opcodes(book, stage)
    opcodes = _opcode_table(seen, stage)
    up = block.page.link("")
    links = {
        opcode: [_page_link(up, book.url(page)) for page in list(use.pages)[:2]]
        for opcode, use in seen.items()
    }
    block.page.groups.append(_search_group(opcodes))
    return rendered.html(opcodes, rendered.EntryNotes(shown=links))


def table(book: Book, stage: str) -> Table:
    """Return the table of the opcodes of `stage`: each opcode with its meaning and its forms with
    modifiers.
    """
    return _opcode_table(_collect_opcodes(book, stage), stage)


def _opcode_table(uses: dict[str, _OpcodeUse], stage: str) -> Table:
    meanings = instructions.load_reference()[stage]["opcodes"]
    rows = tuple(
        (opcode, meanings.get(opcode), ", ".join(sorted(use.forms)))
        for opcode, use in sorted(uses.items())
    )
    columns = ("instruction", "what it does", "as it occurs here")
    return Table(_TITLES[stage], stage, columns, rows)


def _search_group(table: Table) -> Group:
    entries = (Entry(str(name), f"{about or ''} {forms}") for name, about, forms in table.rows)
    return Group(table.name, table.title, "", tuple(entries))


def _page_link(path_to_root: str, url: str) -> tuple[str, str]:
    return path_to_root + url, PurePosixPath(url).stem.replace("-", " ")


def _collect_opcodes(book: Book, stage: str) -> dict[str, _OpcodeUse]:
    seen: dict[str, _OpcodeUse] = {}
    for use in book.uses:
        for run in book.runs.get(use.snippet, ()):
            for form in _opcode_forms(run, stage):
                opcode_use = seen.setdefault(form.split(".")[0], _OpcodeUse())
                opcode_use.forms.add(form)
                opcode_use.pages.setdefault(use.page)
    return seen


def _opcode_forms(run: Run, stage: str) -> list[str]:
    """Return the opcodes with modifiers in a run's listings of a stage; cached on disk."""
    listings = [each for artifact in run.artifacts for each in _find_listings(artifact, stage)]
    if not listings:
        return []
    text = fragments.cached(
        lambda: json.dumps(sorted(instructions.used_opcodes(listings, stage))),
        "forms", stage, [encode(each) for each in listings],
    )  # fmt: skip
    forms: list[str] = json.loads(text)
    return forms


def _find_listings(artifact: Artifact, stage: str) -> Iterator[Listing]:
    if isinstance(artifact, Chain):
        yield from (pane for pane in artifact.panes if pane.stage == stage)
    elif isinstance(artifact, Listing) and artifact.stage == stage:
        yield artifact
