"""Render the findings of a report as HTML and as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tclab.model import NOT_KNOWN, Finding
from tclab.render import parts
from tclab.render.escape import COMMA, NOTHING, Html, esc, join, markup, tag
from tclab.render.options import Options, place_link

#: The number of findings that are open on the first screen.
MOST_OPEN = 6
#: The most lines that a finding names. A finding on equal layers can have hundreds of lines.
_MOST_PLACES = 4


def html(findings: Sequence[Finding], options: Options) -> Html:
    """Return the findings as a numbered list, the highest cost first; '' if there are none."""
    if not findings:
        return NOTHING
    items = [_draw_finding(each, options) for each in findings]
    shown = tag("ol", *items[:MOST_OPEN], class_="explain-findings")
    if not items[MOST_OPEN:]:
        return shown
    rest = tag("ol", *items[MOST_OPEN:], class_="explain-findings", start=MOST_OPEN + 1)
    return join([shown, parts.fold(parts.count(len(items) - MOST_OPEN, "more finding"), rest)])


def _draw_finding(finding: Finding, options: Options) -> Html:
    places = join((place_link(each, options) for each in finding.places[:_MOST_PLACES]), COMMA)
    places = join([places, esc(_count_more_lines(finding, _MOST_PLACES))])
    title = tag("strong", esc(finding.title))
    head = [title, places] if finding.places else [title]
    if _is_known(finding):
        head.append(tag("span", esc(str(finding.cost)), class_="explain-cost"))
    if finding.section:
        head.append(tag("a", esc("details"), href=f"#{options.id(finding.section)}"))
    lines = [tag("p", join(head, markup(" ")), class_="explain-finding")]
    lines += (
        [tag("p", tag("code", esc(finding.places[0].code.strip())))]
        if finding.places and finding.places[0].code
        else []
    )
    lines.append(tag("p", parts.prose(finding.what)))
    for word, text in actions(finding):
        lines.append(tag("p", tag("em", esc(word)), esc(" "), parts.prose(text)))
    return tag("li", *lines)


def _count_more_lines(finding: Finding, named_count: int) -> str:
    more = len(finding.places) - named_count
    return f" and {parts.count(more, 'more line')}" if more > 0 else ""


def _is_known(finding: Finding) -> bool:
    return finding.cost != NOT_KNOWN


def actions(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield (word, action) for each action: the word is ``fix`` for the first one, then ``or``."""
    for number, action in enumerate(finding.actions):
        yield ("or:" if number else "fix:"), action


def place_text(finding: Finding) -> str:
    """Return the place and code of the finding's first line: ``m.py:7 y = x.item()``; '' without a
    line.
    """
    place = finding.places[0] if finding.places else None
    return f"{place}{_count_more_lines(finding, 1)}  {place.code.strip()}".rstrip() if place else ""


def what_text(finding: Finding) -> str:
    """Return what happened, and its cost if the cost is known."""
    return finding.what + (f" ({finding.cost})" if _is_known(finding) else "")


def lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the findings as lines of text, with the details of each finding indented."""
    for finding in findings:
        yield f"{finding.title} {place_text(finding)}".rstrip()
        yield f"  {what_text(finding)}"
        yield from (f"  {word} {text}" for word, text in actions(finding))
