"""Run a lab cell by cell in its own process, so that each output belongs to a cell."""

from __future__ import annotations

import ast
import contextlib
import io
from collections.abc import Callable
from typing import Any

from tclab import display
from tclab.model import Artifact, Text
from tclab.site.engine.worker.protocol import JobFile
from tclab.site.snippets import claims

#: The names of two kinds of artifacts: the mark with a cell's number at its beginning, and the text
#: that the cell printed.
CELL, PRINTED = "cell", "printed"


def run(tree: ast.Module, job: JobFile, main: dict[str, Any]) -> None:
    """Execute the file's cells in order, until one raises."""
    starts = [n for n, line in enumerate(job["source"].split("\n"), 1) if line.startswith("# %%")]
    outputs = Outputs(display.get_sink() or display.show)
    display.set_sink(outputs)
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], 1 << 30])):
        body = [node for node in tree.body if start <= node.lineno < end]
        if body:
            outputs.begin_cell(number)
            code = claims.compile_tree(ast.Module(body, []), job["file"])
            with contextlib.redirect_stdout(outputs.printed):
                exec(code, main)
            outputs.flush()


class Outputs:
    """Pass artifacts and printed text on to `sink`, in the order in which the cell made them."""

    def __init__(self, sink: Callable[[Artifact], None]) -> None:
        self.sink = sink
        self.printed = io.StringIO()

    def begin_cell(self, number: int) -> None:
        """Mark that the next artifacts belong to the cell `number`, counted from 0."""
        self.sink(Text(name=f"{CELL}-{number}", text=str(number)))

    def __call__(self, artifact: Artifact) -> None:
        self.flush()
        self.sink(artifact)

    def flush(self) -> None:
        """Pass on the text printed so far as an artifact."""
        if text := self.printed.getvalue():
            self.sink(Text(name=PRINTED, text=text))
            self.printed.seek(0)
            self.printed.truncate()
