"""Diffs: the same code twice, pane beside pane, with the lines that changed marked."""

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
from tclab.render.viewer.compared import GIVEN_OUT, LinePair, Side, rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tclab.model import Diff, Listing
    from tclab.render.options import Options
    from tclab.render.viewer.compared import PaneLine

#: Lines that are shown before and after a change.
CONTEXT = 3

#: Stages whose differences are unfolded: those that are written to be read. Where they have none,
#: the first difference of the first of the others that has some.
_OPEN = frozenset({"python", "kernel", "cpp"})
_ELSE = ("sass", "asm", "ptx")


@dataclass(frozen=True)
class Pair:
    """A stage's listing on either side, under one name."""

    name: str
    stage: str
    left: Side
    right: Side

    @cached_property
    def rows(self) -> tuple[LinePair, ...]:
        return tuple(rows(self.left, self.right))

    @cached_property
    def changed(self) -> int:
        """Rows that are not the same."""
        return sum(not row.same for row in self.rows)

    @cached_property
    def differs(self) -> bool:
        """Whether more changed than a kernel's metadata."""
        return not all(row.same or row.metadata for row in self.rows)


def pairs(artifact: Diff) -> Iterator[Pair]:
    """Of each stage the first listings of both sides, then the second, and so on."""
    left, right = _by_stage(artifact.left), _by_stage(artifact.right)
    for stage in dict.fromkeys([*left, *right]):
        both = list(zip_longest(left.get(stage, ()), right.get(stage, ())))
        for number, (one, two) in enumerate(both, 1):
            name = label(stage) + (f" {number}" if len(both) > 1 else "")
            yield Pair(name, stage, Side(one), Side(two))


def _by_stage(listings: Sequence[Listing]) -> dict[str, list[Listing]]:
    by_stage: dict[str, list[Listing]] = defaultdict(list)
    for listing in listings:
        by_stage[listing.stage].append(listing)
    return by_stage


# --------------------------------------------------------------------------- HTML


def html(artifact: Diff, options: Options) -> Html:
    """What is the same in a sentence, then every pair of panes that differs."""
    compared = list(pairs(artifact))
    if not compared:
        return parts.note("Nothing to compare.")
    intro = tag("p", esc(_intro(compared)), class_="tclab-note")
    opened = _opened(compared)
    changed = [_pair(pair, artifact.labels, pair in opened) for pair in compared if pair.changed]
    return tag("div", intro, *changed, class_="tclab-diff", data_search_exclude="")


def _opened(compared: Sequence[Pair]) -> list[Pair]:
    """The pairs that stand open: the only one, else those with a difference to be read."""
    if len(compared) == 1:
        return list(compared)
    differing = [pair for pair in compared if pair.differs]
    written = [pair for pair in differing if pair.stage in _OPEN]
    by_stage = {pair.stage: pair for pair in reversed(differing)}
    found = [by_stage[stage] for stage in _ELSE if stage in by_stage]
    return written or [*found, *differing][:1]


_NOT_COMPARED = "Addresses, names of registers and directives are not compared."


def _intro(compared: Sequence[Pair]) -> str:
    """What is the same, and what is left out of the comparison where some pair is such code."""
    same = [pair.name for pair in compared if not pair.changed]
    leaves_out = not GIVEN_OUT.keys().isdisjoint(pair.stage for pair in compared)
    return " ".join(filter(None, (_same(same, len(compared)), _NOT_COMPARED * leaves_out)))


def _same(same: Sequence[str], of: int) -> str:
    return "" if of == 1 and not same else f"The same in both: {', '.join(same) or 'nothing'}."


def _pair(pair: Pair, labels: tuple[str, str], opened: bool) -> Html:
    heads = [tag("strong", esc(one_line(name))) for name in labels]
    body = [tag("div", *heads, class_="tclab-sides")]
    for kind, run in groupby(pair.rows, key=_kind):
        body.append(_KINDS[kind](list(run), pair.rows))
    counts = f"{len(pair.left.lines)} and {len(pair.right.lines)} lines, {pair.changed} changed"
    summary = tag("summary", tag("strong", esc(pair.name)), tag("small", esc(counts)))
    inner = tag("div", *body, class_="tclab-rows", tabindex="0", role="region",
                aria_label=f"{pair.name}: {' and '.join(map(one_line, labels))}")  # fmt: skip
    return tag(
        "details", summary, _facts(pair, labels), inner,
        class_="tclab-compared", open=opened,
        data_stage=pair.stage,
    )  # fmt: skip


def _facts(pair: Pair, labels: tuple[str, str]) -> Html:
    """The facts of a kernel that are not the same on both sides."""
    differing = list(changed_facts(pair))
    if not differing:
        return NOTHING
    cells = [[esc(cell) for cell in row] for row in differing]
    return parts.table(("", *labels), cells, label=f"Facts of {pair.name}", search=False)


def changed_facts(pair: Pair) -> Iterator[tuple[str, str, str]]:
    """(name, left, right) of the facts that differ, where both sides are kernels."""
    left, right = pair.left.listing, pair.right.listing
    if isinstance(left, Kernel) and isinstance(right, Kernel):
        before, after = facts.words(left.facts), facts.words(right.facts)
        for name in dict.fromkeys([*before, *after]):
            one, two = before.get(name, "–"), after.get(name, "–")
            if one != two:
                yield name, one, two


def _kind(row: LinePair) -> str:
    return "same" if row.same else "metadata" if row.metadata else "changed"


def _unchanged(some: list[LinePair], every: tuple[LinePair, ...]) -> Html:
    """Lines that are the same: those near a change, the others folded between them."""
    before = CONTEXT if some[0] is not every[0] else 0
    after = CONTEXT if some[-1] is not every[-1] else 0
    middle = some[before : len(some) - after]
    if len(middle) <= 2:
        return join(map(_row, some))
    folded = _folded(f"{parts.count(len(middle), 'line')}, the same", middle)
    tail = some[len(some) - after :] if after else []
    return join([*map(_row, some[:before]), folded, *map(_row, tail)])


def _metadata(some: list[LinePair], _: tuple[LinePair, ...]) -> Html:
    return _folded(f"{parts.count(len(some), 'line')} of metadata, changed", some)


def _changed(some: list[LinePair], _: tuple[LinePair, ...]) -> Html:
    return join(map(_row, some))


_KINDS = {"same": _unchanged, "metadata": _metadata, "changed": _changed}


def _folded(words: str, some: list[LinePair]) -> Html:
    return tag("details", tag("summary", esc(words)), *map(_row, some), class_="tclab-same")


def _row(row: LinePair) -> Html:
    left = _cell(row.left, "span" if row.same else "del")
    right = _cell(row.right, "span" if row.same else "ins")
    return tag("div", left, right, class_=None if row.same else "tclab-changed")


def _cell(line: PaneLine | None, element: str) -> Html:
    if line is None:
        return markup("<i></i><span></span>")
    pieces = [tag("b", esc(t)) if changed else esc(t) for t, changed in line.pieces]
    return markup("<i>{}</i>{}", line.number, tag(element, *pieces))


# --------------------------------------------------------------------------- text


def text(artifact: Diff) -> str:
    """A unified diff of each pair that differs."""
    compared = list(pairs(artifact))
    intro = columns.paragraph(_intro(compared))
    diffs = [_unified(pair, artifact.labels) for pair in compared if pair.changed]
    return columns.join(columns.heading(artifact.title), intro, *diffs)


def _unified(pair: Pair, labels: tuple[str, str]) -> str:
    one, two = (f"{pair.name}, {one_line(name)}" for name in labels)
    left = [row.left.text for row in pair.rows if row.left]
    right = [_right(row) for row in pair.rows if row.right]
    lines = difflib.unified_diff(left, right, one, two, lineterm="", n=CONTEXT)
    changed = (f"  {name}: {old} | {new}" for name, old, new in changed_facts(pair))
    return "\n".join([*lines, *changed])


def _right(row: LinePair) -> str:
    """A line of the right; where both are the same, as the left has it: registers may differ."""
    line = row.left if row.same and row.left else row.right
    return line.text if line else ""
