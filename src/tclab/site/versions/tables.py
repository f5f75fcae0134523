"""Make tables about two PyTorches: how far their kernels agree, why they differ, memory, breaks."""

from __future__ import annotations

from collections import Counter, defaultdict

from tclab.compare.forms import FUSED, UNNAMED
from tclab.compare.words import describe_cause
from tclab.model import Table
from tclab.site.versions.step import KNOWN, SAME, Part, Step


def _part_name(key: tuple[str, str]) -> str:
    return f"{key[0]}, {key[1]}"


def levels(step: Step) -> Table:
    """Return the number of kernels that are the same or differ, with a row for each part. The last
    four columns sum up to the kernels.
    """
    return Table(
        title="Kernels of both, each counted once",
        name="levels",
        columns=("what, for", "compiled", "kernels", SAME, KNOWN, FUSED.title, "cause not known"),
        rows=tuple(_count_levels(key, part) for key, part in step.parts.items()),
    )


def _count_levels(key: tuple[str, str], part: Part) -> tuple[str | int, ...]:
    counts = part.count_kernels()
    groups = (counts.get(group, 0) for group in (SAME, KNOWN, FUSED.title, UNNAMED.title))
    return _part_name(key), len(part.pairs), len(part.kernels), *groups


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
