"""Read and write the names of each PyTorch, stored as the changes of each version.

`docs/reference/names/2.13.txt` has one line for each difference from the previous version, such as
``operators + aten.foo``; the file of the first version lists all names. The files are written by

    python -m tclab.site.pages.reference.write_names

from the local runs; call it once with each PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tclab.model import Version

#: The folder of the lists, below docs/.
FOLDER = "reference/names"

#: The table of the settings' defaults: its names are such as ``dynamo.recompile_limit = 8``.
DEFAULTS = "defaults"
#: The table of the settings' comments: its names are such as ``dynamo.verbose = Print …``.
COMMENTS = "comments"

NamesByTable = Mapping[str, frozenset[str]]  # table → names
NamesByVersion = Mapping[str, NamesByTable]  # version → its names


@dataclass(frozen=True)
class Change:
    """The names of a table that were added and dropped from one version to the next."""

    table: str
    added: tuple[str, ...]
    dropped: tuple[str, ...]


def read_lists(folder: Path) -> dict[str, dict[str, frozenset[str]]]:
    """Read the names by version and table, the oldest version first."""
    known: dict[str, dict[str, frozenset[str]]] = {}
    by_table: dict[str, set[str]] = {}
    for path in sorted(folder.glob("*.txt"), key=lambda path: Version.parse(path.stem)):
        for line in path.read_text(encoding="utf-8").splitlines():
            table, sign, name = line.split(" ", 2)
            current = by_table.setdefault(table, set())
            (current.add if sign == "+" else current.discard)(name)
        known[path.stem] = {table: frozenset(names) for table, names in by_table.items()}
    return known


def write_lists(folder: Path, names_by_version: NamesByVersion) -> None:
    """Write the file of each version with its changes."""
    folder.mkdir(parents=True, exist_ok=True)
    last: NamesByTable = {}
    for version in sorted(names_by_version, key=Version.parse):
        lines = []
        for change in _find_differences(last, names_by_version[version]):
            lines += [f"{change.table} + {name}" for name in change.added]
            lines += [f"{change.table} - {name}" for name in change.dropped]
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"{version}.txt").write_text(text, encoding="utf-8")
        last = names_by_version[version]


def compare_names(before: NamesByTable, after: NamesByTable) -> list[Change]:
    """Return the changes of all tables in `after`; a table that is only in `before` was not
    collected again. A default is a change only where both have the setting; a comment is none.
    """
    tables = {name: names for name, names in after.items() if name not in (DEFAULTS, COMMENTS)}
    moved = changed_defaults(before, after)
    old, new = (tuple(f"{name} = {pair[i]}" for name, pair in moved.items()) for i in (0, 1))
    return _find_differences(before, tables) + ([Change(DEFAULTS, new, old)] if moved else [])


def _find_differences(before: NamesByTable, after: NamesByTable) -> list[Change]:
    changed = []
    for table in sorted(after):
        old, new = before.get(table, frozenset()), after[table]
        if old != new:
            changed.append(Change(table, tuple(sorted(new - old)), tuple(sorted(old - new))))
    return changed


def changed_defaults(before: NamesByTable, after: NamesByTable) -> dict[str, tuple[str, str]]:
    """Map each setting of both whose default differs to (default before, default after)."""
    old, new = (
        dict(name.split(" = ", 1) for name in names.get(DEFAULTS, ())) for names in (before, after)
    )
    both = sorted(old.keys() & new.keys())
    return {name: (old[name], new[name]) for name in both if old[name] != new[name]}


def version_ranges(
    table: str, names: frozenset[str], names_by_version: NamesByVersion
) -> dict[str, str]:
    """Map each name to the versions that have it, such as ``2.12–2.14``. Names that all versions
    have are left out.
    """
    versions = sorted(names_by_version, key=Version.parse)
    by_name = {
        name: [v for v in versions if name in names_by_version[v].get(table, ())] for name in names
    }
    return {
        name: f"{having[0]}–{having[-1]}" if len(having) > 1 else having[0]
        for name, having in by_name.items()
        if having and len(having) < len(versions)
    }
