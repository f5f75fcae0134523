"""Render the block `calls`: the call graph of a table in calling order."""

from __future__ import annotations

from tclab import render
from tclab.model import Run
from tclab.render import calls, parts
from tclab.render.escape import Html, join, tag
from tclab.render.kinds.table import cell_texts
from tclab.site.pages.reference.entries import find_table
from tclab.site.pages.rendering import RunningBlock


def html(block: RunningBlock, run: Run, name: str) -> Html:
    """Render the table `name` as a drawing, then the folded table and the stamp.

    The table has the columns function, caller, stage and place. Each function appears once, below
    its caller.
    """
    table = find_table(block, run, name)
    rows = cell_texts(table)
    numbers = {row[0]: number for number, row in enumerate(rows)}
    nodes = [calls.CallNode(row[0], numbers.get(row[1]), row[2], row[3]) for row in rows]
    drawing = calls.svg(nodes, table.title, run.provenance.torch_git)
    table_fold = parts.fold("The same as a table", render.html(table))
    # the search finds these names through search_names
    excluded = tag("div", table_fold, data_search_exclude="")
    return join([tag("div", drawing, excluded, class_="tclab"), render.stamp(run)])
