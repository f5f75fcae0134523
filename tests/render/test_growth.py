"""What is looked for grows with a chain's lines, not with how often they are joined: counted."""

from __future__ import annotations

import pytest

from tclab.model import Chain, Listing
from tclab.render.options import Options
from tclab.render.viewer.panes import Panes


class Counted(Panes):
    """Panes that count the places they look at."""

    looked = 0

    def place(self, line: int) -> tuple[int, int]:
        type(self).looked += 1
        return super().place(line)


def all_from_all(count: int) -> Chain:
    """Instructions each of which comes from every line of the kernel and of the PTX."""
    code = "x\n" * count
    lines = range(1, count + 1)
    return Chain(
        "all",
        panes=(
            Listing("k", "k", code, stage="kernel", marks=dict.fromkeys(lines, ("kernel:0.0:1",))),
            Listing("p", "p", code, stage="ptx", marks=dict.fromkeys(lines, ("ptx:0.0:1",))),
            Listing(
                "s",
                "s",
                code,
                stage="sass",
                links=dict.fromkeys(lines, ("ptx:0.0:1", "kernel:0.0:1")),
            ),
        ),
    )


@pytest.mark.parametrize("count", [10, 300])
def test_the_origins_that_lines_share_are_looked_for_once(count):
    panes = Counted(all_from_all(count), Options())
    Counted.looked = 0
    for line in range(2 * count, 3 * count):
        assert panes.origins(line, 4) == [(0, 1), (0, 2), (0, 3), (0, 4)]
    assert Counted.looked <= 2 * count
