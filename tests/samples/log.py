"""The files samples are kept in: one record after the other, as TORCH_TRACE writes them.

A line of JSON says what the record is and which compile it belongs to; the lines after it that
start with a tab are what PyTorch printed, unchanged but for `tclab.text.scrub`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parent
#: Where functions.py seems to stand: a place that is nobody's, and shares no folder with PyTorch.
FILE = "/reader/functions.py"


@dataclass(frozen=True)
class Record:
    """`meta` as PyTorch's structured trace has it, or ``{"log": …}``, ``{"noted": …}`` and the
    compile's two numbers; `payload` the text that came with it.
    """

    meta: dict[str, Any]
    payload: str = ""


def write(path: Path, records: Iterable[Record]) -> None:
    """Write a log; `read` gives back the very same records."""
    lines: list[str] = []
    for record in records:
        lines.append(json.dumps(record.meta))
        if record.payload:
            lines += ["\t" + line for line in record.payload.split("\n")]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def read(path: Path) -> Iterator[Record]:
    """The records of a log, in order."""
    meta: dict[str, Any] | None = None
    payload: list[str] = []
    for line in path.read_text(encoding="utf-8").removesuffix("\n").split("\n"):
        if line.startswith("\t"):
            payload.append(line[1:])
            continue
        if meta is not None:
            yield Record(meta, "\n".join(payload))
        meta, payload = json.loads(line), []
    if meta is not None:
        yield Record(meta, "\n".join(payload))
