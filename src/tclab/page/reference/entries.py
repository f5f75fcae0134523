"""The block of a reference page: a table's entries, linked, with ids, known to the search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tclab import render
from tclab.errors import PageError
from tclab.model import Run, Table
from tclab.page import state
from tclab.page.blocks import Block
from tclab.page.reference import concordance, mended, versions
from tclab.page.reference.groups import Entry, Group
from tclab.render import entries as rendered
from tclab.render.escape import Html, join
from tclab.render.kinds.table import cells

#: What the search shows of an entry, besides its name.
_LONGEST = 200


def table_of(block: Block, run: Run, name: str) -> Table:
    """The table called `name`; PageError where the run shows none of that name."""
    tables = {artifact.name: artifact for artifact in run.artifacts if isinstance(artifact, Table)}
    if name not in tables:
        cause = f"{run.snippet} shows no table {name!r}"
        raise PageError(block.place, cause, f"it shows: {', '.join(tables)}")
    return tables[name]


def html(block: Block, runs: Sequence[Run], name: str, compared: bool, with_mended: bool) -> Html:
    """The entries of the first run's table `name`, the stamp, and of breaks the mended ones."""
    run = runs[0]
    table = table_of(block, run, name)
    block.on.groups.append(group(table, run, compared))
    found = mended.examples(state.build().book) if with_mended else {}
    by_name = {row[0]: row[1:] for row in cells(table)}
    below = mended.html(by_name, found, block.on.link(""))
    extra = _extra(block, table, run, {name: mended.anchor(name) for name in found})
    return join([rendered.html(table, extra), render.stamp(run), below])


def _extra(block: Block, table: Table, run: Run, below: Mapping[str, str]) -> rendered.Extra:
    build = state.build()
    named = frozenset(row[0] for row in cells(table))
    links = concordance.links(named, build.concordance(), block.on.link(""))
    for name in named & below.keys():
        links[name] = [(f"#{below[name]}", "before and after"), *links.get(name, ())]
    there = versions.having(table.name, named, build.known_names)
    weights = {name: build.concordance().weight(name) for name in links}
    return rendered.Extra(there, links, weights, run.provenance.torch_git)


def group(table: Table, run: Run, compared: bool) -> Group:
    """What the search and the comparison of versions know of a table."""
    version = run.provenance.version.short if compared else ""
    return Group(table.name, table.title, version, tuple(_entries(table)))


def _entries(table: Table) -> Iterator[Entry]:
    for name, *rest in cells(table):
        words = " · ".join(text for text in rest if text != "–" and not _is_place(text))
        text = " ".join(words.split())
        cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
        yield Entry(name, cut)


def _is_place(text: str) -> bool:
    return text.startswith("torch/") and ".py:" in text
