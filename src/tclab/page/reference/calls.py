"""The block that draws who calls whom, of a table in the order of the calls."""

from __future__ import annotations

from tclab import render
from tclab.model import Run
from tclab.page.blocks import Block
from tclab.page.reference.entries import table_of
from tclab.render import calls, parts
from tclab.render.escape import Html, join, tag
from tclab.render.kinds.table import cells


def html(block: Block, run: Run, name: str) -> Html:
    """The drawing of the table `name`, the table folded, the stamp.

    Its columns: function, caller, stage, place. Each function stands once, below its caller.
    """
    table = table_of(block, run, name)
    rows = cells(table)
    numbers = {row[0]: number for number, row in enumerate(rows)}
    called = [calls.Called(row[0], numbers.get(row[1]), row[2], row[3]) for row in rows]
    drawn = calls.svg(called, table.title, run.provenance.torch_git)
    words = parts.fold("The same as a table", render.html(table))
    found = tag("div", words, data_search_exclude="")  # the search has these names by themselves
    return join([tag("div", drawn, found, class_="tclab"), render.stamp(run)])
