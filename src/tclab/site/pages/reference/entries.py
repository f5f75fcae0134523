"""Render the block `entries`: a table's rows with links and ids, added to the search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tclab import render
from tclab.errors import PageError
from tclab.model import Run, Table
from tclab.render import entries as rendered
from tclab.render.escape import Html, join
from tclab.render.kinds.table import cell_texts
from tclab.site.pages import state
from tclab.site.pages.reference import concordance, fixed_breaks
from tclab.site.pages.reference.groups import Entry, Group
from tclab.site.pages.rendering import RunningBlock
from tclab.site.versions import name_lists

#: The longest text, besides the name, that the search shows of an entry.
_LONGEST_TEXT = 200


def find_table(block: RunningBlock, run: Run, name: str) -> Table:
    """Return the table called `name`. Raises PageError if the run shows no table of that name."""
    tables = {artifact.name: artifact for artifact in run.artifacts if isinstance(artifact, Table)}
    if name not in tables:
        cause = f"{run.snippet} shows no table {name!r}"
        raise PageError(block.place, cause, f"it shows: {', '.join(tables)}")
    return tables[name]


def html(
    block: RunningBlock, runs: Sequence[Run], name: str, compare_versions: bool, with_fixes: bool
) -> Html:
    """Render the entries of the first run's table `name`, the stamp and, if asked, fixed breaks."""
    run = runs[0]
    table = find_table(block, run, name)
    block.page.groups.append(make_group(table, run, compare_versions))
    fixed = fixed_breaks.examples(state.build().book) if with_fixes else {}
    by_name = {row[0]: row[1:] for row in cell_texts(table)}
    below = fixed_breaks.html(by_name, fixed, block.page.link(""))
    notes = _entry_notes(block, table, run, {name: fixed_breaks.anchor(name) for name in fixed})
    return join([rendered.html(table, notes), render.stamp(run), below])


def _entry_notes(
    block: RunningBlock, table: Table, run: Run, examples: Mapping[str, str]
) -> rendered.EntryNotes:
    build = state.build()
    names = frozenset(row[0] for row in cell_texts(table))
    links = concordance.links_to_places(names, build.concordance(), block.page.link(""))
    for name in names & examples.keys():
        links[name] = [(f"#{examples[name]}", "before and after"), *links.get(name, ())]
    ranges = name_lists.version_ranges(table.name, names, build.known_names)
    weights = {name: build.concordance().weight(name) for name in links}
    return rendered.EntryNotes(ranges, links, weights, run.provenance.torch_git)


def make_group(table: Table, run: Run, compare_versions: bool) -> Group:
    """Make the group of a table for the search and for the comparison of versions."""
    version = run.provenance.version.short if compare_versions else ""
    return Group(table.name, table.title, version, tuple(_make_entries(table)))


def _make_entries(table: Table) -> Iterator[Entry]:
    for name, *rest in cell_texts(table):
        words = " · ".join(text for text in rest if text != "–" and not _is_place(text))
        text = " ".join(words.split())
        short = text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
        yield Entry(name, short)


def _is_place(text: str) -> bool:
    return text.startswith("torch/") and ".py:" in text
