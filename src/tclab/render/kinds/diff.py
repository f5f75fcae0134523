"""Render diffs: two versions of the same code side by side, with changed lines marked."""

from __future__ import annotations

import difflib
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from tclab.model import Kernel
from tclab.render import columns, parts
from tclab.render.escape import NOTHING, Html, esc, join, markup, one_line, tag
from tclab.render.stages import label
from tclab.render.viewer import facts
from tclab.render.viewer.compared import NOT_COMPARED, LinePair, Side, pair_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tclab.model import Diff, Listing
    from tclab.render.options import Options
    from tclab.render.viewer.compared import PaneLine

#: The number of equal lines shown before and after a change.
CONTEXT = 3

#: Stages of readable code, whose differences are open at first. If these stages do not differ, the
#: first difference in the fallback stages is open.
_OPEN_STAGES = frozenset({"python", "kernel", "cpp"})
_FALLBACK_STAGES = ("sass", "amdgcn", "asm", "ptx")


@dataclass(frozen=True)
class Pair:
    """Two listings of one stage that are compared, under one name."""

    name: str
    stage: str
    left: Side
    right: Side

    @cached_property
    def rows(self) -> tuple[LinePair, ...]:
        return tuple(pair_lines(self.left, self.right))

    @cached_property
    def changed(self) -> int:
        """The number of rows that differ."""
        return sum(not row.same for row in self.rows)

    @cached_property
    def differs(self) -> bool:
        """Whether anything but a kernel's metadata differs."""
        return not all(row.same or row.metadata for row in self.rows)


def pair_listings(artifact: Diff) -> Iterator[Pair]:
    """Pair the nth listing of each stage of the left side with the nth of the right side."""
    left, right = _group_by_stage(artifact.left), _group_by_stage(artifact.right)
    for stage in dict.fromkeys([*left, *right]):
        paired = list(zip_longest(left.get(stage, ()), right.get(stage, ())))
        for number, (left_listing, right_listing) in enumerate(paired, 1):
            name = label(stage) + (f" {number}" if len(paired) > 1 else "")
            yield Pair(name, stage, Side(left_listing), Side(right_listing))


def _group_by_stage(listings: Sequence[Listing]) -> dict[str, list[Listing]]:
    by_stage: dict[str, list[Listing]] = defaultdict(list)
    for listing in listings:
        by_stage[listing.stage].append(listing)
    return by_stage


# --------------------------------------------------------------------------- HTML


def html(artifact: Diff, options: Options) -> Html:
    """Return a sentence that names the equal pairs, then each pair of panes that differs."""
    listing_pairs = list(pair_listings(artifact))
    if not listing_pairs:
        return parts.note("Nothing to compare.")
    intro = tag("p", esc(_describe_equal_pairs(listing_pairs)), class_="tclab-note")
    open_pairs = _choose_open(listing_pairs)
    changed = [
        _draw_pair(pair, artifact.labels, pair in open_pairs)
        for pair in listing_pairs
        if pair.changed
    ]
    return tag("div", intro, *changed, class_="tclab-diff", data_search_exclude="")


def _choose_open(listing_pairs: Sequence[Pair]) -> list[Pair]:
    """Choose the pairs that are open at first: the only pair; or the pairs that differ in readable
    code; or else one other pair.
    """
    if len(listing_pairs) == 1:
        return list(listing_pairs)
    differing = [pair for pair in listing_pairs if pair.differs]
    open_pairs = [pair for pair in differing if pair.stage in _OPEN_STAGES]
    by_stage = {pair.stage: pair for pair in reversed(differing)}
    fallback = [by_stage[stage] for stage in _FALLBACK_STAGES if stage in by_stage]
    return open_pairs or [*fallback, *differing][:1]


_NOT_COMPARED = "Addresses, names of registers and directives are not compared."


def _describe_equal_pairs(listing_pairs: Sequence[Pair]) -> str:
    """Return a sentence that lists the equal pairs, and one on the differences that the comparison
    ignores, if any.
    """
    equal_names = [pair.name for pair in listing_pairs if not pair.changed]
    ignores_some = not NOT_COMPARED.keys().isdisjoint(pair.stage for pair in listing_pairs)
    return " ".join(
        filter(None, (_equal_names(equal_names, len(listing_pairs)), _NOT_COMPARED * ignores_some))
    )


def _equal_names(same: Sequence[str], total: int) -> str:
    return "" if total == 1 and not same else f"The same in both: {', '.join(same) or 'nothing'}."


def _draw_pair(pair: Pair, labels: tuple[str, str], is_open: bool) -> Html:
    heads = [tag("strong", esc(one_line(name))) for name in labels]
    body = [tag("div", *heads, class_="tclab-sides")]
    for kind, run_of_rows in groupby(pair.rows, key=_row_kind):
        body.append(_DRAW_KINDS[kind](list(run_of_rows), pair.rows))
    counts = f"{len(pair.left.lines)} and {len(pair.right.lines)} lines, {pair.changed} changed"
    summary = tag("summary", tag("strong", esc(pair.name)), tag("small", esc(counts)))
    inner = tag("div", *body, class_="tclab-rows", tabindex="0", role="region",
                aria_label=f"{pair.name}: {' and '.join(map(one_line, labels))}")  # fmt: skip
    return tag(
        "details", summary, _draw_facts(pair, labels), inner,
        class_="tclab-compared", open=is_open,
        data_stage=pair.stage,
    )  # fmt: skip


def _draw_facts(pair: Pair, labels: tuple[str, str]) -> Html:
    """Draw a table of the facts of a kernel that differ."""
    differing = list(differing_facts(pair))
    if not differing:
        return NOTHING
    cells = [[esc(cell) for cell in row] for row in differing]
    return parts.table(("", *labels), cells, label=f"Facts of {pair.name}", search=False)


def differing_facts(pair: Pair) -> Iterator[tuple[str, str, str]]:
    """Yield (name, left, right) for each fact that differs, if both sides are kernels."""
    left, right = pair.left.listing, pair.right.listing
    if isinstance(left, Kernel) and isinstance(right, Kernel):
        before, after = facts.fact_texts(left.facts), facts.fact_texts(right.facts)
        for name in dict.fromkeys([*before, *after]):
            old, new = before.get(name, "–"), after.get(name, "–")
            if old != new:
                yield name, old, new


def _row_kind(row: LinePair) -> str:
    return "same" if row.same else "metadata" if row.metadata else "changed"


def _draw_unchanged(run_of_rows: list[LinePair], all_rows: tuple[LinePair, ...]) -> Html:
    """Draw equal lines. Equal lines far from a change are folded."""
    before = CONTEXT if run_of_rows[0] is not all_rows[0] else 0
    after = CONTEXT if run_of_rows[-1] is not all_rows[-1] else 0
    middle = run_of_rows[before : len(run_of_rows) - after]
    if len(middle) <= 2:
        return join(map(_draw_row, run_of_rows))
    folded = _draw_fold(f"{parts.count(len(middle), 'line')}, the same", middle)
    tail = run_of_rows[len(run_of_rows) - after :] if after else []
    return join([*map(_draw_row, run_of_rows[:before]), folded, *map(_draw_row, tail)])


def _draw_metadata(run_of_rows: list[LinePair], _: tuple[LinePair, ...]) -> Html:
    return _draw_fold(f"{parts.count(len(run_of_rows), 'line')} of metadata, changed", run_of_rows)


def _draw_changed(run_of_rows: list[LinePair], _: tuple[LinePair, ...]) -> Html:
    return join(map(_draw_row, run_of_rows))


_DRAW_KINDS = {"same": _draw_unchanged, "metadata": _draw_metadata, "changed": _draw_changed}


def _draw_fold(title: str, run_of_rows: list[LinePair]) -> Html:
    return tag(
        "details", tag("summary", esc(title)), *map(_draw_row, run_of_rows), class_="tclab-same"
    )


def _draw_row(row: LinePair) -> Html:
    left = _draw_cell(row.left, "span" if row.same else "del")
    right = _draw_cell(row.right, "span" if row.same else "ins")
    return tag("div", left, right, class_=None if row.same else "tclab-changed")


def _draw_cell(line: PaneLine | None, element: str) -> Html:
    if line is None:
        return markup("<i></i><span></span>")
    pieces = [
        tag("b", esc(piece_text)) if changed else esc(piece_text)
        for piece_text, changed in line.pieces
    ]
    return markup("<i>{}</i>{}", line.number, tag(element, *pieces))


# --------------------------------------------------------------------------- text


def text(artifact: Diff) -> str:
    """Return a unified diff of each pair that differs."""
    listing_pairs = list(pair_listings(artifact))
    intro = columns.paragraph(_describe_equal_pairs(listing_pairs))
    diffs = [_unified_diff(pair, artifact.labels) for pair in listing_pairs if pair.changed]
    return columns.join(columns.heading(artifact.title), intro, *diffs)


def _unified_diff(pair: Pair, labels: tuple[str, str]) -> str:
    left_title, right_title = (f"{pair.name}, {one_line(name)}" for name in labels)
    left = [row.left.text for row in pair.rows if row.left]
    right = [_right_text(row) for row in pair.rows if row.right]
    lines = difflib.unified_diff(left, right, left_title, right_title, lineterm="", n=CONTEXT)
    fact_lines = (f"  {name}: {old} | {new}" for name, old, new in differing_facts(pair))
    return "\n".join([*lines, *fact_lines])


def _right_text(row: LinePair) -> str:
    """Return the text of the right line. If both lines count as equal, return the left line, since
    only the names of registers can differ.
    """
    line = row.left if row.same and row.left else row.right
    return line.text if line else ""
