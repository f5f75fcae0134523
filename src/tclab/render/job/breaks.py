"""Draw the graph breaks of a job: each kind of break once, with the lines at which it occurs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tclab.model import Break, JobProcess, SourceLine, Table
from tclab.render import kinds, parts
from tclab.render.escape import NOTHING, Html, join, tag
from tclab.render.kinds import breaks
from tclab.render.options import Options


def html(processes: Sequence[JobProcess], options: Options) -> Html:
    """Return each kind of break, the most frequent first; '' if there are none."""
    by_kind: dict[Break, list[Break]] = defaultdict(list)
    for process in processes:
        for each in process.breaks:
            by_kind[_without_places(each)].append(each)
    ordered = sorted(by_kind.values(), key=lambda group: -len(group))
    if not ordered:
        return NOTHING
    number = parts.count(sum(map(len, ordered)), "graph break")
    note = parts.note(f"{number} of {parts.count(len(ordered), 'kind')}.")
    drawn = [join(_draw_kind(group, options)) for group in ordered]
    return join([note, tag("div", *drawn, class_="tclab")])


def _without_places(item: Break) -> Break:
    """Return the break without its lines. PyTorch ends the explanation of data-dependent branching
    with the line that computes the condition.
    """
    explanation = item.explanation.partition('# File "')[0]
    return replace(item, location=None, stack=(), explanation=explanation)


def _draw_kind(group: Sequence[Break], options: Options) -> Iterator[Html]:
    """Yield the first break of a kind, then the table of the lines if there are several."""
    yield tag("ol", breaks.draw_break(group[0], options), class_="tclab-breaks")
    places = Counter(each.location for each in group if each.location)
    if len(places) > 1:
        yield parts.fold(f"At {len(places):,} lines", kinds.html(_places_table(places), options))


def _places_table(places: Counter[SourceLine]) -> Table:
    rows = ((str(line), line.function, line.code.strip(), n) for line, n in places.most_common())
    return Table("Lines", "lines", ("line", "function", "code", "times"), tuple(rows))
