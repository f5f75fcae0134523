"""Find the sources of a run. A source says where the data in a file below ``records/`` that the run
reads was measured.

Each file states its own source: a file of rows or a report in its head, an artifact of a recording
in the ``run.json`` beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from tclab.errors import RecordingError
from tclab.model import Snippet, Source

#: Keys under which the head of a file, or of a run, may hold its provenance.
_PROVENANCE = ("environment", "machine", "provenance")


def read_sources(snippet: Snippet) -> tuple[Source, ...]:
    """Read the sources of the recorded files that a snippet reads, merged by machine.

    Raises RecordingError for a file that does not state its source.
    """
    return merge_by_machine(
        read_source(path) for path in snippet.includes if "records" in path.parts
    )


def merge_by_machine(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Merge sources that differ only in their dates."""
    dates: dict[Source, set[str]] = {}
    for source in sources:
        dates.setdefault(replace(source, dates=()), set()).update(source.dates)
    return tuple(
        replace(source, dates=tuple(sorted(all_dates))) for source, all_dates in dates.items()
    )


def read_source(path: Path) -> Source:
    """Read from a recorded file where its data was measured. Raises RecordingError if the file does
    not state it.
    """
    head = _read_head(path)
    made = next((head[name] for name in _PROVENANCE if isinstance(head.get(name), dict)), None)
    if not isinstance(made, dict) or not made.get("torch"):
        cause = "does not say which PyTorch and which machine it was recorded on"
        raise RecordingError(str(path), cause, "let the command that records it write it anew")
    given = {name: str(made.get(name, "")) for name in ("torch", "triton", "gpu", "cpu")}
    date = made.get("date") or head.get("recorded")
    return Source(
        **given, target=str(head.get("target", "")), dates=(str(date)[:10],) if date else ()
    )


def _read_head(path: Path) -> Mapping[str, object]:
    """Return the object that holds a file's provenance."""
    beside = path.with_name("run.json")
    if path.suffix == ".json" and beside.is_file():
        return cast("dict[str, object]", _read_json(beside).get("run", {}))
    return _read_json(path)


def _read_json(path: Path) -> dict[str, object]:
    """Read the object of a JSON file, or of the first line of a JSONL file."""
    text = path.read_text(encoding="utf-8")
    try:
        data = json.loads(text.partition("\n")[0] if path.suffix == ".jsonl" else text)
    except ValueError as error:
        raise RecordingError(str(path), f"cannot be read: {error}", "restore the file") from None
    return data if isinstance(data, dict) else {}
