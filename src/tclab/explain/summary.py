"""How much of everything there was, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.model import Table
from tclab.render.report.counts import ALL_GRAPHS

if TYPE_CHECKING:
    from tclab.capturing import Capture


def table(capture: Capture, calls: int) -> Table:
    """The counts. Guards, kernels and library calls are those of all graphs."""
    generated = [k for k in capture.kernels if k.category != "extern"]
    skipped = sum(item.skipped for item in capture.breaks)
    rows = (
        ("calls", calls),
        ("graph breaks", len(capture.breaks) - skipped),
        ("functions that run without compiling", skipped),
        ("graphs", capture.breaks.graphs),
        ("recompiles", len(capture.recompiles)),
        (ALL_GRAPHS, len(capture.graphs)),
        ("guards", sum(len(of) for of in capture.guards)),
        ("kernels", len(generated)),
        ("library calls", len(capture.kernels) - len(generated)),
    )
    return Table("Summary", "summary", ("what", "count"), rows)
