"""Make tables about two PyTorches: how far their kernels agree, why they differ, memory, breaks."""

from __future__ import annotations

from collections import Counter, defaultdict

from tclab.compare.pairs import DIFFERS, REWRITTEN, SAME_BODY, SAME_TEXT
from tclab.compare.words import describe_cause
from tclab.model import Table
from tclab.site.versions.step import Part, Step


def _part_name(key: tuple[str, str]) -> str:
    return f"{key[0]}, {key[1]}"


def levels(step: Step) -> Table:
    """Return the number of kernels at each level of agreement, with a row for each part."""
    return Table(
        title="Kernels of both, by how far they agree",
        name="levels",
        columns=("what, for", "compiled", "kernels", SAME_TEXT, SAME_BODY, REWRITTEN, DIFFERS,
                 "in one version only", "cause known", "cause not known"),
        rows=tuple(_count_levels(key, part) for key, part in step.parts.items()),
    )  # fmt: skip


def _count_levels(key: tuple[str, str], part: Part) -> tuple[str | int, ...]:
    counts = part.levels
    alone = len(part.kernels) - sum(counts.values())
    agree = (counts.get(level, 0) for level in (SAME_TEXT, SAME_BODY, REWRITTEN, DIFFERS))
    known = part.differing - part.unnamed
    return _part_name(key), len(part.pairs), len(part.kernels), *agree, alone, known, part.unnamed


def causes(part: Part, name: str, title: str) -> Table:
    """Return the causes of differing kernels. Causes that can change results come first."""
    rows = []
    for each in part.causes:
        kernels, *rest = describe_cause(each).values()
        rows.append((kernels, part.count_functions(each), *rest))
    columns = ("kernels", "in", "cause", "moves numbers", "memory", "speed", "known as")
    return Table(title=title, name=name, columns=columns, rows=tuple(rows))


def memory(step: Step) -> Table:
    """Return the planned bytes before and after for the pairs in which they differ. Equal rows are
    shown once.
    """
    names: dict[tuple[str, int, int], list[str]] = defaultdict(list)
    for (_, target), part in step.parts.items():
        for name, old, new in part.memory:
            names[target, old, new].append(name)
    return Table(
        title="Bytes of buffers planned at once, where they differ",
        name="memory",
        columns=("compiled", "for", step.before.release, step.after.release),
        rows=tuple((", ".join(every), *key) for key, every in names.items()),
        formats=("", "", ",", ","),
    )


def breaks(step: Step) -> Table:
    """Return the graph breaks that are new or gone. Equal breaks are one row, with their number."""
    counted: Counter[tuple[str, str]] = Counter()
    for each in step.pairs:
        for change in each.upgrade.comparison.changes:
            if change.part == "graph breaks":
                counted[change.title, "gone" if change.after is None else "new"] += 1
    rows = tuple((number, *key) for key, number in counted.most_common())
    return Table("Graph breaks that came or went", "breaks", ("times", "break", "is"), rows)
