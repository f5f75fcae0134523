"""The symbols of a report, each with the graphs that have it: a name is one of a graph."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from tclab.render import parts
from tclab.render.escape import NOTHING, Html, esc
from tclab.render.kinds import symbols

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tclab.model import Chain, Report
    from tclab.render.options import Options


def html(report: Report, options: Options) -> Html:
    """A row a symbol; nothing where every size is a constant."""
    if not report.symbols.symbols:
        return NOTHING
    of = graphs([symbol.name for symbol in report.symbols], report.chains)
    rows = [
        (esc(graph) or parts.DASH, *symbols.cells(symbol, options))
        for graph, symbol in zip(of, report.symbols)
    ]
    return parts.table(("Graph", *symbols.HEAD), rows, label="Symbols of each graph")


def graphs(names: Sequence[str], chains: Sequence[Chain]) -> list[str]:
    """For each of `names`, in the order in which they were made, the graphs whose code has it."""
    mentions = {name: _mentions(name, chains) for name in names}
    seen: dict[str, int] = defaultdict(int)
    out = []
    for name in names:
        own = mentions[name]
        one_each = len(own) == names.count(name)
        out.append(own[seen[name]] if one_each else ", ".join(own))
        seen[name] += 1
    return out


def _mentions(name: str, chains: Sequence[Chain]) -> list[str]:
    word = re.compile(rf"\b{re.escape(name)}\b")
    codes = [[pane.code for pane in chain.panes if pane.stage == "dynamo"] for chain in chains]
    return [str(number) for number, of in enumerate(codes) if any(map(word.search, of))]
