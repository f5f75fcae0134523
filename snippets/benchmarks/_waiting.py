"""Whether a recorded row waits for Python, which launches its kernels, or for the GPU."""

from __future__ import annotations

from _recorded import by_case
from _roof import Roof

from tclab.workshop.bench.rows import Book, Row


class Waiting:
    """Tells the rows of one recording apart, by that recording alone."""

    def __init__(self, book: Book) -> None:
        self.book, self.roof, self.kernels = book, Roof(book), by_case(book, "kernel")
        self.cheapest = min(rows["default"].us for rows in self.kernels.values())
        self.launch = book.rows["ceilings/launch@eager", "eager"].us

    def of(self, row: Row) -> bool | None:
        """Whether launching sets the time: of a ceiling that takes less than two launches, of a
        kernel whose roof is below the cheapest compiled call, and of a model whose default mode
        gains a tenth by a CUDA graph, which launches the same kernels at once; None where there is
        no such graph.
        """
        if row.phase == "ceiling":
            return row.us < 2 * self.launch
        if row.phase == "kernel":
            return self.roof.least_us(self.kernels[row.case]["eager"]) < self.cheapest
        modes = ("default", "reduce-overhead")
        default, graphs = (self.book.rows.get((row.case, mode)) for mode in modes)
        if not (default and graphs and default.us and graphs.us and graphs.facts["graphs"]):
            return None
        return row.mode != "reduce-overhead" and graphs.us < 0.9 * default.us
