"""What the reference pages list, for the search and for comparing versions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A row of a reference table: what the search finds."""

    name: str
    text: str


@dataclass(frozen=True)
class Group:
    """The entries of one table, as the PyTorch `torch` (``2.13``) has them; '' if not compared."""

    table: str
    title: str
    torch: str
    entries: tuple[Entry, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(entry.name for entry in self.entries)
