"""The names that each PyTorch has, kept as what each version added and dropped.

`docs/reference/names/2.13.txt` has a line a change, ``operators + aten.foo``, against the version
before; the first version's file has everything. They are written by

    python -m tclab.page.reference.write

from the runs of the machine it is called on, once with each PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tclab.model import Version

#: Below docs/.
FOLDER = "reference/names"

Names = Mapping[str, frozenset[str]]  # table → names
Known = Mapping[str, Names]  # version → its names


@dataclass(frozen=True)
class Change:
    """What became of a table's names from `before` to a version."""

    table: str
    added: tuple[str, ...]
    dropped: tuple[str, ...]


def read(folder: Path) -> dict[str, dict[str, frozenset[str]]]:
    """Version → table → its names, oldest version first."""
    known: dict[str, dict[str, frozenset[str]]] = {}
    last: dict[str, set[str]] = {}
    for path in sorted(folder.glob("*.txt"), key=lambda path: Version.of(path.stem)):
        for line in path.read_text(encoding="utf-8").splitlines():
            table, sign, name = line.split(" ", 2)
            here = last.setdefault(table, set())
            (here.add if sign == "+" else here.discard)(name)
        known[path.stem] = {table: frozenset(names) for table, names in last.items()}
    return known


def write(folder: Path, known: Known) -> None:
    """Write every version's file anew, as what it changes."""
    folder.mkdir(parents=True, exist_ok=True)
    last: Names = {}
    for version in sorted(known, key=Version.of):
        lines = []
        for change in changes(last, known[version]):
            lines += [f"{change.table} + {name}" for name in change.added]
            lines += [f"{change.table} - {name}" for name in change.dropped]
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"{version}.txt").write_text(text, encoding="utf-8")
        last = known[version]


def changes(before: Names, after: Names) -> list[Change]:
    """The tables whose names differ; a table that is only in `before` was not looked at."""
    made = []
    for table in sorted(after):
        old, new = before.get(table, frozenset()), after[table]
        if old != new:
            made.append(Change(table, tuple(sorted(new - old)), tuple(sorted(old - new))))
    return made


def told(table: str, names: frozenset[str], known: Known) -> dict[str, str]:
    """For each name that not every known version has, those that do: ``2.12–2.14``."""
    versions = sorted(known, key=Version.of)
    having = {name: [v for v in versions if name in known[v].get(table, ())] for name in names}
    return {
        name: f"{there[0]}–{there[-1]}" if len(there) > 1 else there[0]
        for name, there in having.items()
        if there and len(there) < len(versions)
    }
