"""What a GPU would choose among: the candidates of each kernel, one under the other."""

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
    """The table."""
    return table.html(in_rows(artifact), options)


def text(artifact: Candidates) -> str:
    """The table."""
    return table.text(in_rows(artifact))


def in_rows(artifact: Candidates, *, names_once: bool = False) -> Table:
    """A row a candidate. With `names_once` a kernel's name and rule stand in its first row only."""
    rows: list[tuple[Cell, ...]] = []
    before: tuple[Cell, ...] = ()
    for candidate in artifact:
        name = candidate.kernel, candidate.rule
        first = ("", "") if names_once and name == before else name
        rows.append((*first, str(candidate.config), *_taken(candidate)))
        before = name
    formats = ("", "", "", "d", ",d", ",d", "")
    return Table(artifact.title, artifact.name, COLUMNS, tuple(rows), formats=formats)


def _taken(candidate: Candidate) -> tuple[Cell, ...]:
    taken = candidate.resources
    if taken is None:
        return None, None, None, f"does not compile: {candidate.problem}"
    return taken.registers, taken.spilled, taken.shared, str(taken.occupancy or "")
