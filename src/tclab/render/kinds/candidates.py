"""Render candidates: a table of the configurations of each kernel that a GPU would time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.model import Table
from tclab.render.kinds import table

if TYPE_CHECKING:
    from tclab.model import Candidate, Candidates
    from tclab.render.escape import Html
    from tclab.render.kinds.table import Cell
    from tclab.render.options import Options

COLUMNS = (
    "kernel", "rule", "candidate", "registers", "spilled bytes", "shared memory", "occupancy",
)  # fmt: skip


def html(artifact: Candidates, options: Options) -> Html:
    """Return the candidates as a table."""
    return table.html(to_table(artifact), options)


def text(artifact: Candidates) -> str:
    """Return the candidates as a table."""
    return table.text(to_table(artifact))


def to_table(artifact: Candidates, *, names_once: bool = False) -> Table:
    """Return a table with a row for each candidate. With `names_once`, only the first row of a
    kernel has its name and rule.
    """
    rows: list[tuple[Cell, ...]] = []
    previous: tuple[Cell, ...] = ()
    for candidate in artifact:
        name = candidate.kernel, candidate.rule
        name_cells = ("", "") if names_once and name == previous else name
        rows.append((*name_cells, str(candidate.config), *_resource_cells(candidate)))
        previous = name
    formats = ("", "", "", "d", ",d", ",d", "")
    return Table(artifact.title, artifact.name, COLUMNS, tuple(rows), formats=formats)


def _resource_cells(candidate: Candidate) -> tuple[Cell, ...]:
    resources = candidate.resources
    if resources is None:
        return None, None, None, f"does not compile: {candidate.problem}"
    return resources.registers, resources.spilled, resources.shared, str(resources.occupancy or "")
