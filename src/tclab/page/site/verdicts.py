"""What is believed about the compiler, judged by runs: the verdicts of each version side by side.

A snippet on beliefs shows a table `verdicts` with the columns of COLUMNS, a row a belief. Its live
run and its recordings are made on different versions of PyTorch; here their tables become one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tclab import render
from tclab.errors import PageError
from tclab.model import Run, Table, Version
from tclab.page.blocks import Block
from tclab.page.book import Book
from tclab.page.prose.text import PageText
from tclab.page.prose.uses import Use
from tclab.render import parts
from tclab.render.escape import NOTHING, Html, esc, join, markup, tag
from tclab.render.stamp import enumerated

#: The artifact's name, and its columns. `on` is the machine of recorded data, '' for the run's own.
TABLE = "verdicts"
COLUMNS = ("belief", "verdict", "seen", "on")

#: How a verdict ends that one case alone gave.
OF_ONE_CASE = ", in the one case tried"

_ATTRIBUTES = re.compile(r" +\{.*\}$")


@dataclass
class Belief:
    """One belief; `verdicts` and `seen` by where it was judged, such as ``PyTorch 2.13``."""

    text: str
    snippet: str
    verdicts: dict[str, str] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)

    @property
    def differs(self) -> bool:
        return len(set(self.verdicts.values())) > 1


def beliefs(runs: Iterable[Run]) -> list[Belief]:
    """The beliefs of one snippet's runs, in the order of the first that has each."""
    judged: dict[str, Belief] = {}
    for run in runs:
        for text, verdict, seen, on in _rows(run):
            belief = judged.setdefault(text, Belief(text, run.snippet))
            where = on or version(run)
            belief.verdicts.setdefault(where, verdict)
            belief.seen.setdefault(where, seen)
    return list(judged.values())


def _rows(run: Run) -> Iterator[tuple[str, str, str, str]]:
    try:
        table = run.artifact(TABLE)
    except KeyError:
        table = None
    if not isinstance(table, Table) or table.columns != COLUMNS:
        step = "judge beliefs with snippets/beliefs/_beliefs.py, and call show()"
        raise PageError(f"snippets/{run.snippet}.py:1", "shows no table of verdicts", step)
    for text, verdict, seen, on in table.rows:
        yield str(text), str(verdict), str(seen), str(on or "")


def version(run: Run) -> str:
    """``PyTorch 2.13`` of a run on a CPU; with the GPU's name where it has one."""
    number = run.provenance.version.short
    return f"PyTorch {number}" + (f", {run.provenance.gpu}" if run.provenance.gpu else "")


def places(judged: Iterable[Belief]) -> list[str]:
    """Where beliefs were judged: CPUs by their PyTorch's version as numbers, then the rest."""

    def key(place: str) -> tuple[bool, Version, str]:
        return "," in place, Version.of(place.rpartition("PyTorch ")[2]), place

    return sorted({place for belief in judged for place in belief.verdicts}, key=key)


# --------------------------------------------------------------------------- on pages


def of_snippet(block: Block, page: PageText, name: str, runs: Sequence[Run]) -> Html:
    """The table of one snippet, each belief a link to its heading on `page`, the block's."""
    judged = beliefs(runs)
    anchors = headings(page)
    if lost := [belief.text for belief in judged if _slug(belief.text) not in anchors]:
        cause = f"the page has no heading for the belief {lost[0]!r}"
        raise PageError(block.place, cause, f"write one: ### {lost[0]}")
    links = {belief.text: f"#{_slug(belief.text)}" for belief in judged}
    return join([table(judged, links, name), *map(render.stamp, runs)])


def of_all(block: Block, book: Book) -> Html:
    """The table of every belief that a page of the site shows, each a link to it."""
    own = links(block, book)
    judged = [belief for use in _uses(book) for belief in _judged(block, book, use)]
    if not judged:
        raise PageError(block.place, "no page shows verdicts", 'call verdicts("topic/snippet")')
    return join([_summary(judged), table(judged, own, "Every belief", seen=False)])


def links(block: Block, book: Book) -> dict[str, str]:
    """Each belief that a page of the site shows → where it stands."""
    return {
        belief.text: block.on.link(f"{book.url(use.page)}#{_slug(belief.text)}")
        for use in _uses(book)
        for belief in _judged(block, book, use)
    }


def _uses(book: Book) -> list[Use]:
    return [use for use in book.uses if use.function == "verdicts"]


def _judged(block: Block, book: Book, use: Use) -> list[Belief]:
    return beliefs(book.runs_of(use.snippet, block.place))


def headings(page: PageText) -> set[str]:
    """The anchors of a page's headings below its title, as Material makes them."""
    return {_slug(heading.words) for heading in page.headings if heading.level > 1}


def _slug(heading: str) -> str:
    from markdown.extensions.toc import slugify  # type: ignore[import-untyped, unused-ignore]

    return str(slugify(_ATTRIBUTES.sub("", heading).replace("`", ""), "-"))


def table(
    judged: Sequence[Belief], links: dict[str, str], label: str, *, seen: bool = True
) -> Html:
    """A row a belief: its verdict, said once where all places agree, and what was seen. Where every
    CPU agrees, which is the rule, no place is named.
    """
    columns = places(judged)
    rule = [place for place in columns if "," not in place] or columns
    rows = [
        [
            tag("a", parts.prose(belief.text), href=links[belief.text]),
            _verdict(belief, columns, rule),
            *([_seen(belief, columns)] if seen else []),
        ]
        for belief in judged
    ]
    note = parts.caption(f"Where no place is named, the verdict is of {enumerated(rule)}.")
    head = ["belief", "verdict", *(["seen"] if seen else [])]
    return join([parts.table(head, rows, label=label), note])


def _verdict(belief: Belief, columns: Sequence[str], rule: Sequence[str]) -> Html:
    """The verdict, with the places it is of where these are not the `rule`, or do not agree."""
    known = {place: belief.verdicts[place] for place in columns if place in belief.verdicts}
    by_verdict: dict[str, list[str]] = {}
    for place, verdict in known.items():
        by_verdict.setdefault(verdict, []).append(place)
    everywhere = [list(rule)] == list(by_verdict.values())
    lines = (_marked(v, "" if everywhere else enumerated(at)) for v, at in by_verdict.items())
    inner = join(lines)
    return tag("div", inner, class_="tclab-differs") if belief.differs else inner


#: The sign of a verdict, which a screen reader leaves out: the words say the same.
_SIGNS = {"holds": "✓", "does not hold": "✗"}


def _marked(verdict: str, where: str) -> Html:
    sign = _SIGNS.get(verdict.removesuffix(OF_ONE_CASE), "◐")
    kind = {"✓": "yes", "✗": "no"}.get(sign, "partly")
    mark = tag("span", esc(sign), class_=f"tclab-sign tclab-{kind}", aria_hidden="true")
    place = tag("small", esc(where)) if where else NOTHING
    return tag("p", mark, parts.prose(verdict), place, class_="tclab-verdict")


def _seen(belief: Belief, columns: Sequence[str]) -> Html:
    """What the first place saw; what another saw, where its verdict is another."""
    known = [place for place in columns if place in belief.seen]
    distinct = [(known[0], belief.seen[known[0]])]
    for place in known[1:]:
        if all(belief.verdicts[place] != belief.verdicts[before] for before, _ in distinct):
            distinct.append((place, belief.seen[place]))
    if len(distinct) == 1:
        return parts.prose(distinct[0][1])
    lines = (parts.prose(f"{place}: {seen}") for place, seen in distinct)
    return join(lines, markup("<br>"))


def _summary(judged: Sequence[Belief]) -> Html:
    """How many beliefs there are, how many hold where, and how many verdicts differ."""
    rows = []
    for place in places(judged):
        judged_there = (b.verdicts[place] for b in judged if place in b.verdicts)
        verdicts = [verdict.removesuffix(OF_ONE_CASE) for verdict in judged_there]
        holds, lost = verdicts.count("holds"), verdicts.count("does not hold")
        only = len(verdicts) - holds - lost
        rows.append([parts.prose(place), *map(esc, (len(verdicts), holds, only, lost))])
    head = ["judged on", "beliefs", "hold", "hold only if", "do not hold"]
    differing = parts.count(sum(belief.differs for belief in judged), "verdict")
    note = f"{parts.count(len(judged), 'belief')}; {differing} differ from version to version."
    counts = parts.table(head, rows, label="Verdicts", right=[False, True, True, True, True])
    return join([counts, parts.caption(note)])
