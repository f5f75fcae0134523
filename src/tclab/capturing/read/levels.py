"""Turn the traced calls of a function into its operator levels: ATen, Core ATen, prims."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Sequence

from tclab.capturing.trace.notes import CallNote
from tclab.model import Level, LevelCall, Levels, SourceLine
from tclab.text.scrub import scrub

#: The levels that `torch_private.decomposing` traces, from the highest to the lowest.
LABELS = ("ATen", "Core ATen", "Prims")


def read_levels(traced: Iterable[Sequence[CallNote]]) -> Levels:
    """Return the levels in the order of LABELS. A getitem on an operator's results does not count
    as a call.
    """
    result = (
        Level(label, tuple(_level_calls(notes)))
        for label, notes in zip(LABELS, traced, strict=True)
    )
    return Levels("Level by level", "levels", tuple(result))


def _level_calls(notes: Sequence[CallNote]) -> Iterator[LevelCall]:
    for note in notes:
        if note.target:
            yield LevelCall(
                name=note.name,
                operator=note.target.removesuffix(".default"),
                origin=note.origin,
                shape=note.shape,
                dtype=note.dtype,
                location=_source_line(note),
            )


def _source_line(note: CallNote) -> SourceLine | None:
    if not note.file:
        return None
    code = linecache.getline(note.file, note.line).strip()
    return SourceLine(scrub(note.file), note.line, code)
