"""Define the entries of reference tables, for the search and for the comparison of versions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A row of a reference table that the search can find."""

    name: str
    text: str


@dataclass(frozen=True)
class Group:
    """The entries of one table. `torch` is the PyTorch version (``2.13``); '' if the table's
    versions are not compared.
    """

    table: str
    title: str
    torch: str
    entries: tuple[Entry, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(entry.name for entry in self.entries)
