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
    """Return a table with a row for each belief: its verdict and, if `with_observations`, the cases
    it was tried in, folded.

    If all CPUs agree on a verdict, which is the usual case, the verdict names no place.
    """
    columns = judged_places(beliefs)
    usual = [place for place in columns if "," not in place] or columns
    rows = [
        [
            tag("a", parts.prose(belief.text), href=links[belief.text]),
            _verdict_cell(belief, columns, usual, with_observations=with_observations),
        ]
        for belief in beliefs
    ]
    note = parts.caption(f"Where no place is named, the verdict is of {join_names(usual)}.")
    return join([parts.table(["belief", "verdict"], rows, label=label), note])


def _verdict_cell(
    belief: Belief, columns: Sequence[str], usual: Sequence[str], *, with_observations: bool
) -> Html:
    """Return each verdict once, with what was seen at its first place, and with its places unless
    they are exactly the `usual` places.
    """
    known = {place: belief.verdicts[place] for place in columns if place in belief.verdicts}
    by_verdict: dict[str, list[str]] = {}
    for place, verdict in known.items():
        by_verdict.setdefault(verdict, []).append(place)
    everywhere = [list(usual)] == list(by_verdict.values())
    lines = []
    for verdict, at in by_verdict.items():
        seen = belief.seen[at[0]]
        lines.append(_verdict_line(verdict, seen, "" if everywhere else join_names(at)))
        lines += [_folded(verdict, seen)] if with_observations else []
    inner = join(lines)
    return tag("div", inner, class_="tclab-differs") if belief.differs else inner


#: The sign of a verdict; hidden from screen readers, because the words say the same.
_YES, _NO, _PARTLY = "✓", "✗", "◐"
_SIGNS = {"holds": _YES, "does not hold": _NO}


def _verdict_line(verdict: str, seen: str, places_text: str) -> Html:
    sign = _SIGNS.get(verdict.removesuffix(ONE_CASE_SUFFIX), _PARTLY)
    kind = {_YES: "yes", _NO: "no"}.get(sign, "partly")
    mark = tag("span", esc(sign), class_=f"tclab-sign tclab-{kind}", aria_hidden="true")
    place = tag("small", esc(places_text)) if places_text else NOTHING
    words = parts.prose(_sentence(verdict, _read_cases(verdict, seen)))
    return tag("p", mark, words, place, class_="tclab-verdict")


#: A condition, whether the belief held under it, and what was seen there.
Case = tuple[str, bool, str]
_ONLY_IF = "holds only if "


def _read_cases(verdict: str, seen: str) -> list[Case]:
    """Return the cases of a verdict; [] if the texts are not made of them."""
    pieces = [piece.partition(": ") for piece in re.split(r"; (?=[^;]*: )", seen)]
    if not all(colon for _, colon, _ in pieces):
        return []
    held = verdict.removeprefix(_ONLY_IF) if verdict.startswith(_ONLY_IF) else None
    cases = []
    for condition, _, what in pieces:
        holds = verdict.startswith("holds")
        if held is not None:  # the conditions that held, in the order of the cases
            rest = held.removeprefix(condition)
            holds = rest != held and (not rest or rest.startswith(" or "))
            held = rest.removeprefix(" or ") if holds else held
        cases.append((condition, holds, what))
    return [] if held else cases


def _sentence(verdict: str, cases: Sequence[Case]) -> str:
    """Return the verdict in few words: how often the belief held, and the rarer outcome's cases."""
    held = [condition for condition, holds, _ in cases if holds]
    failed = [condition for condition, holds, _ in cases if not holds]
    if not held or not failed:
        return verdict
    counted = f"holds in {len(held)} of {len(cases)} cases"
    if len(failed) < len(held):
        return f"{counted}, not in: {'; '.join(failed)}"
    return f"{counted}: {'; '.join(held)}" if len(held) <= 2 else counted


def _folded(verdict: str, seen: str) -> Html:
    """Fold the cases, each with its sign and what was seen; else the text of what was seen."""
    cases = _read_cases(verdict, seen)
    if not cases:
        return tag("p", parts.prose(seen), class_="tclab-verdict")
    items = (
        tag("li", markup("{} {}", esc(_YES if holds else _NO), parts.prose(f"{case}: {what}")))
        for case, holds, what in cases
    )
    fold = parts.fold(parts.count(len(cases), "case"), tag("ul", *items), search=False, paper=True)
    return tag("div", fold, class_="tclab tclab-cases")


def _summary_table(beliefs: Sequence[Belief]) -> Html:
    """Count the beliefs, the verdicts at each place, and the beliefs whose verdicts differ."""
    rows = []
    for place in judged_places(beliefs):
        judged_there = (b.verdicts[place] for b in beliefs if place in b.verdicts)
        verdicts = [verdict.removesuffix(ONE_CASE_SUFFIX) for verdict in judged_there]
        holds, fails = verdicts.count("holds"), verdicts.count("does not hold")
        conditional = len(verdicts) - holds - fails
        rows.append([parts.prose(place), *map(esc, (len(verdicts), holds, conditional, fails))])
    head = ["judged on", "beliefs", "hold", "hold in some cases", "do not hold"]
    differing = parts.count(sum(belief.differs for belief in beliefs), "verdict")
    note = f"{parts.count(len(beliefs), 'belief')}; {differing} differ from version to version."
    counts = parts.table(head, rows, label="Verdicts", right=[False, True, True, True, True])
    return join([counts, parts.caption(note)])
