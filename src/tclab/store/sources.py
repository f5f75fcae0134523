"""Where recorded data was measured: what a run inherits from the files under ``records/`` it reads.

Each of those says so itself: a file of rows or a report in its head, an artifact of a recording in
the ``run.json`` beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from tclab.errors import RecordingError
from tclab.model import Snippet, Source

#: What the head of a file, or of a run, calls its provenance.
_PROVENANCE = ("environment", "machine", "provenance")


def of_snippet(snippet: Snippet) -> tuple[Source, ...]:
    """The sources of the recorded files that a snippet reads, those of one machine as one.

    RecordingError for a file that does not say where it is from.
    """
    return merged(of_file(path) for path in snippet.includes if "records" in path.parts)


def merged(sources: Iterable[Source]) -> tuple[Source, ...]:
    """One source a machine, with all its days."""
    days: dict[Source, set[str]] = {}
    for source in sources:
        days.setdefault(replace(source, dates=()), set()).update(source.dates)
    return tuple(replace(source, dates=tuple(sorted(of))) for source, of in days.items())


def of_file(path: Path) -> Source:
    """What a recorded file says of where it was measured."""
    head = _head(path)
    made = next((head[name] for name in _PROVENANCE if isinstance(head.get(name), dict)), None)
    if not isinstance(made, dict) or not made.get("torch"):
        cause = "does not say which PyTorch and which machine it was recorded on"
        raise RecordingError(str(path), cause, "let the command that records it write it anew")
    given = {name: str(made.get(name, "")) for name in ("torch", "triton", "gpu", "cpu")}
    date = made.get("date") or head.get("recorded")
    return Source(
        **given, target=str(head.get("target", "")), dates=(str(date)[:10],) if date else ()
    )


def _head(path: Path) -> Mapping[str, object]:
    """The object that says where a file is from."""
    beside = path.with_name("run.json")
    if path.suffix == ".json" and beside.is_file():
        return cast("dict[str, object]", _json(beside).get("run", {}))
    return _json(path)


def _json(path: Path) -> dict[str, object]:
    """The object of a JSON file, or of the first line of a file of rows."""
    text = path.read_text(encoding="utf-8")
    try:
        data = json.loads(text.partition("\n")[0] if path.suffix == ".jsonl" else text)
    except ValueError as error:
        raise RecordingError(str(path), f"cannot be read: {error}", "restore the file") from None
    return data if isinstance(data, dict) else {}
