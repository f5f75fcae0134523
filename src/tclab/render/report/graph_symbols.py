"""Render the symbols of a report with their graphs, because one name can mean a different symbol in
each graph.
"""

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
    """Return a table with a row for each symbol; '' if every size is a constant."""
    if not report.symbols.symbols:
        return NOTHING
    graphs = graphs_of_symbols([symbol.name for symbol in report.symbols], report.chains)
    rows = [
        (esc(graph) or parts.DASH, *symbols.symbol_cells(symbol, options))
        for graph, symbol in zip(graphs, report.symbols)
    ]
    return parts.table(("Graph", *symbols.COLUMN_NAMES), rows, label="Symbols of each graph")


def graphs_of_symbols(names: Sequence[str], chains: Sequence[Chain]) -> list[str]:
    """Return for each of `names`, in order of creation, the numbers of the graphs that use it."""
    graphs_by_name = {name: _graphs_that_mention(name, chains) for name in names}
    seen: dict[str, int] = defaultdict(int)
    graph_texts = []
    for name in names:
        mentioning = graphs_by_name[name]
        is_one_each = len(mentioning) == names.count(name)
        graph_texts.append(mentioning[seen[name]] if is_one_each else ", ".join(mentioning))
        seen[name] += 1
    return graph_texts


def _graphs_that_mention(name: str, chains: Sequence[Chain]) -> list[str]:
    word = re.compile(rf"\b{re.escape(name)}\b")
    codes = [[pane.code for pane in chain.panes if pane.stage == "dynamo"] for chain in chains]
    return [
        str(number)
        for number, graph_codes in enumerate(codes)
        if any(map(word.search, graph_codes))
    ]
