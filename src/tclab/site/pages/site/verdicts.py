"""Show beliefs about the compiler with the verdicts of several PyTorch versions side by side.

A snippet on beliefs shows a table `verdicts` with COLUMNS, one row for each belief. The snippet's
live run and its recordings come from different versions of PyTorch; this module merges their
tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tclab import render
from tclab.errors import PageError
from tclab.model import Run, Table, Version
from tclab.render import parts
from tclab.render.escape import NOTHING, Html, esc, join, markup, tag
from tclab.render.stamp import join_names
from tclab.site.pages.book import Book
from tclab.site.pages.prose.blocks import Call
from tclab.site.pages.prose.text import PageText
from tclab.site.pages.rendering import RunningBlock

#: The name and the columns of the artifact. `on` is the machine that measured recorded data; '' if
#: it is the run's own machine.
TABLE = "verdicts"
COLUMNS = ("belief", "verdict", "seen", "on")

#: The end of a verdict that rests on a single case.
ONE_CASE_SUFFIX = ", in the one case tried"

_ATTRIBUTES = re.compile(r" +\{.*\}$")


@dataclass
class Belief:
    """One belief; `verdicts` and `seen` are keyed by place, such as ``PyTorch 2.13``."""

    text: str
    snippet: str
    verdicts: dict[str, str] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)

    @property
    def differs(self) -> bool:
        return len(set(self.verdicts.values())) > 1


def read_beliefs(runs: Iterable[Run]) -> list[Belief]:
    """Return the beliefs of one snippet's runs, in the order of their first appearance."""
    by_text: dict[str, Belief] = {}
    for run in runs:
        for text, verdict, seen, machine in _table_rows(run):
            belief = by_text.setdefault(text, Belief(text, run.snippet))
            place = machine or place_of_run(run)
            belief.verdicts.setdefault(place, verdict)
            belief.seen.setdefault(place, seen)
    return list(by_text.values())


def _table_rows(run: Run) -> Iterator[tuple[str, str, str, str]]:
    try:
        table = run.artifact(TABLE)
    except KeyError:
        table = None
    if not isinstance(table, Table) or table.columns != COLUMNS:
        step = "judge beliefs with snippets/beliefs/_beliefs.py, and call show()"
        raise PageError(f"snippets/{run.snippet}.py:1", "shows no table of verdicts", step)
    for text, verdict, seen, machine in table.rows:
        yield str(text), str(verdict), str(seen), str(machine or "")


def place_of_run(run: Run) -> str:
    """Return the place of a run: ``PyTorch 2.13``, and the GPU's name if it has one."""
    number = run.provenance.version.short
    return f"PyTorch {number}" + (f", {run.provenance.gpu}" if run.provenance.gpu else "")


def judged_places(beliefs: Iterable[Belief]) -> list[str]:
    """Return the places of the verdicts: CPUs sorted by PyTorch version, then GPUs."""

    def key(place: str) -> tuple[bool, Version, str]:
        return "," in place, Version.parse(place.rpartition("PyTorch ")[2]), place

    return sorted({place for belief in beliefs for place in belief.verdicts}, key=key)


# --------------------------------------------------------------------------- on pages


def snippet_table(block: RunningBlock, page: PageText, name: str, runs: Sequence[Run]) -> Html:
    """Render the table of one snippet; each belief links to its heading on the block's `page`."""
    beliefs = read_beliefs(runs)
    anchors = heading_anchors(page)
    if missing := [
        belief.text for belief in beliefs if _heading_anchor(belief.text) not in anchors
    ]:
        cause = f"the page has no heading for the belief {missing[0]!r}"
        raise PageError(block.place, cause, f"write one: ### {missing[0]}")
    links = {belief.text: f"#{_heading_anchor(belief.text)}" for belief in beliefs}
    return join([beliefs_table(beliefs, links, name), *map(render.stamp, runs)])


def all_beliefs_table(block: RunningBlock, book: Book) -> Html:
    """Render the table of all beliefs on the site, with links to their headings."""
    addresses = belief_links(block, book)
    beliefs = [
        belief for use in _verdict_calls(book) for belief in _beliefs_of_call(block, book, use)
    ]
    if not beliefs:
        raise PageError(block.place, "no page shows verdicts", 'call verdicts("topic/snippet")')
    return join(
        [
            _summary_table(beliefs),
            beliefs_table(beliefs, addresses, "Every belief", with_observations=False),
        ]
    )


def belief_links(block: RunningBlock, book: Book) -> dict[str, str]:
    """Map each belief to the address of its heading on the site."""
    return {
        belief.text: block.page.link(f"{book.url(use.page)}#{_heading_anchor(belief.text)}")
        for use in _verdict_calls(book)
        for belief in _beliefs_of_call(block, book, use)
    }


def _verdict_calls(book: Book) -> list[Call]:
    return [use for use in book.uses if use.function == "verdicts"]


def _beliefs_of_call(block: RunningBlock, book: Book, use: Call) -> list[Belief]:
    return read_beliefs(book.select_runs(use.snippet, block.place))


def heading_anchors(page: PageText) -> set[str]:
    """Return the anchors of a page's headings below its title."""
    return {_heading_anchor(heading.words) for heading in page.headings if heading.level > 1}


def _heading_anchor(heading: str) -> str:
    from markdown.extensions.toc import slugify  # type: ignore[import-untyped, unused-ignore]

    return str(slugify(_ATTRIBUTES.sub("", heading).replace("`", ""), "-"))


def beliefs_table(
    beliefs: Sequence[Belief], links: dict[str, str], label: str, *, with_observations: bool = True
) -> Html:
    """Return a table with a row for each belief: its verdict and, if `with_observations`, the
    observation.

    If all CPUs agree on a verdict, which is the usual case, the verdict names no place.
    """
    columns = judged_places(beliefs)
    usual = [place for place in columns if "," not in place] or columns
    rows = [
        [
            tag("a", parts.prose(belief.text), href=links[belief.text]),
            _verdict_cell(belief, columns, usual),
            *([_seen_cell(belief, columns)] if with_observations else []),
        ]
        for belief in beliefs
    ]
    note = parts.caption(f"Where no place is named, the verdict is of {join_names(usual)}.")
    head = ["belief", "verdict", *(["seen"] if with_observations else [])]
    return join([parts.table(head, rows, label=label), note])


def _verdict_cell(belief: Belief, columns: Sequence[str], usual: Sequence[str]) -> Html:
    """Return the verdict, with its places unless they are exactly the `usual` places."""
    known = {place: belief.verdicts[place] for place in columns if place in belief.verdicts}
    by_verdict: dict[str, list[str]] = {}
    for place, verdict in known.items():
        by_verdict.setdefault(verdict, []).append(place)
    everywhere = [list(usual)] == list(by_verdict.values())
    lines = (_verdict_line(v, "" if everywhere else join_names(at)) for v, at in by_verdict.items())
    inner = join(lines)
    return tag("div", inner, class_="tclab-differs") if belief.differs else inner


#: The sign of a verdict; hidden from screen readers, because the words say the same.
_SIGNS = {"holds": "✓", "does not hold": "✗"}


def _verdict_line(verdict: str, places_text: str) -> Html:
    sign = _SIGNS.get(verdict.removesuffix(ONE_CASE_SUFFIX), "◐")
    kind = {"✓": "yes", "✗": "no"}.get(sign, "partly")
    mark = tag("span", esc(sign), class_=f"tclab-sign tclab-{kind}", aria_hidden="true")
    place = tag("small", esc(places_text)) if places_text else NOTHING
    return tag("p", mark, parts.prose(verdict), place, class_="tclab-verdict")


def _seen_cell(belief: Belief, columns: Sequence[str]) -> Html:
    """Return the observation of the first place, and one observation for each other verdict."""
    known = [place for place in columns if place in belief.seen]
    distinct = [(known[0], belief.seen[known[0]])]
    for place in known[1:]:
        if all(belief.verdicts[place] != belief.verdicts[before] for before, _ in distinct):
            distinct.append((place, belief.seen[place]))
    if len(distinct) == 1:
        return parts.prose(distinct[0][1])
    lines = (parts.prose(f"{place}: {seen}") for place, seen in distinct)
    return join(lines, markup("<br>"))


def _summary_table(beliefs: Sequence[Belief]) -> Html:
    """Count the beliefs, the verdicts at each place, and the beliefs whose verdicts differ."""
    rows = []
    for place in judged_places(beliefs):
        judged_there = (b.verdicts[place] for b in beliefs if place in b.verdicts)
        verdicts = [verdict.removesuffix(ONE_CASE_SUFFIX) for verdict in judged_there]
        holds, fails = verdicts.count("holds"), verdicts.count("does not hold")
        conditional = len(verdicts) - holds - fails
        rows.append([parts.prose(place), *map(esc, (len(verdicts), holds, conditional, fails))])
    head = ["judged on", "beliefs", "hold", "hold only if", "do not hold"]
    differing = parts.count(sum(belief.differs for belief in beliefs), "verdict")
    note = f"{parts.count(len(beliefs), 'belief')}; {differing} differ from version to version."
    counts = parts.table(head, rows, label="Verdicts", right=[False, True, True, True, True])
    return join([counts, parts.caption(note)])
