"""Define the entries of reference tables, for the search and for the comparison of versions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A row of a reference table, as the search finds it."""

    name: str
    text: str


@dataclass(frozen=True)
class Group:
    """The entries of one table. `torch` is the version (``2.13``), '' if none is compared."""

    table: str
    title: str
    torch: str
    entries: tuple[Entry, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(entry.name for entry in self.entries)
