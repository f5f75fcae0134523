"""A function's calls at several levels of operators, from the nodes that were traced."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Sequence

from tclab.capturing.torch_private.decomposing import in_short
from tclab.capturing.trace.notes import CallNote
from tclab.model import Level, LevelCall, Levels, SourceLine
from tclab.scrub import scrub

#: From the highest to the lowest: what `torch_private.decomposing` traces.
LABELS = ("ATen", "Core ATen", "Prims")


def levels(traced: Iterable[Sequence[CallNote]]) -> Levels:
    """The levels, in the order of LABELS; picking one of several results is no call."""
    several = (
        Level(label, tuple(_calls(notes))) for label, notes in zip(LABELS, traced, strict=True)
    )
    return Levels("Level by level", "levels", tuple(several))


def _calls(notes: Sequence[CallNote]) -> Iterator[LevelCall]:
    for note in notes:
        if note.target:
            yield LevelCall(
                name=note.name,
                operator=note.target.removesuffix(".default"),
                origin=note.origin,
                shape=note.shape,
                dtype=in_short(note.dtype),
                location=_place(note),
            )


def _place(note: CallNote) -> SourceLine | None:
    if not note.file:
        return None
    code = linecache.getline(note.file, note.line).strip()
    return SourceLine(scrub(note.file), note.line, code)
