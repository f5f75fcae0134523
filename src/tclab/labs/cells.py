"""Executes a lab in its process, cell by cell, so that each output has its cell."""

from __future__ import annotations

import ast
import contextlib
import io
from collections.abc import Callable
from typing import Any

from tclab import claims, display
from tclab.engine.worker.protocol import JobFile
from tclab.model import Artifact, Text

#: Names of the artifacts that say which cell begins, and of what a cell printed.
CELL, PRINTED = "cell", "printed"


def run(tree: ast.Module, job: JobFile, main: dict[str, Any]) -> None:
    """Execute the file's cells one after the other; the first error ends it."""
    starts = [n for n, line in enumerate(job["source"].split("\n"), 1) if line.startswith("# %%")]
    outputs = Outputs(display.collecting() or display.show)
    display.collect(outputs)
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], 1 << 30])):
        body = [node for node in tree.body if start <= node.lineno < end]
        if body:
            outputs.begin(number)
            code = claims.compiled(ast.Module(body, []), job["file"])
            with contextlib.redirect_stdout(outputs.printed):
                exec(code, main)
            outputs.flush()


class Outputs:
    """Passes on what is shown, and what was printed before it, in order."""

    def __init__(self, sink: Callable[[Artifact], None]) -> None:
        self.sink = sink
        self.printed = io.StringIO()

    def begin(self, number: int) -> None:
        """What follows belongs to the cell of this number."""
        self.sink(Text(name=f"{CELL}-{number}", text=str(number)))

    def __call__(self, artifact: Artifact) -> None:
        self.flush()
        self.sink(artifact)

    def flush(self) -> None:
        """What was printed so far, as an artifact."""
        if text := self.printed.getvalue():
            self.sink(Text(name=PRINTED, text=text))
            self.printed.seek(0)
            self.printed.truncate()
