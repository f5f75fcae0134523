"""Tables about the step from one PyTorch to the next: the worst changes, and all changes."""

from __future__ import annotations

from collections.abc import Iterator

from tclab.compare.causes import Cause
from tclab.compare.changes import PARTS
from tclab.compare.forms import NO, NUMERIC_EFFECTS, UNKNOWN
from tclab.compare.pairs import DIFFERS, REWRITTEN, SAME_BODY, SAME_TEXT
from tclab.compare.words import describe_cause
from tclab.model import Table
from tclab.site.versions.step import Part, Step

#: A row of the table `first`: the difference, its places or number, whether it changes results.
SummaryRow = tuple[str, str, str | None]


def first(step: Step) -> Table:
    """Return the changes that matter most to a user who upgrades, worst first."""
    moving = [*_failed_compiles(step), *_result_changes(step), *_list_operators(step)]
    rows = [
        *moving,
        *_list_breaks(step),
        *_list_memory(step),
        *_list_claims(step),
        *_unchanged_parts(step),
    ]
    return Table(
        title=f"From {step.before.release} to {step.after.release}, worst first",
        name="first",
        columns=("what differs", "where", "moves numbers"),
        rows=tuple(rows),
    )


def _failed_compiles(step: Step) -> Iterator[SummaryRow]:
    for part in step.parts.values():
        for each in part.on_one_side:
            release = (step.after if each.upgrade.before.failure else step.before).release
            yield (
                f"compiles under {release} only",
                f"{each.before.name} for {each.before.target}",
                None,
            )


def _result_changes(step: Step) -> Iterator[SummaryRow]:
    """Return the causes of all parts that can, or may, change results."""
    every = [
        (cause, part, _part_name(key)) for key, part in step.parts.items() for cause in part.causes
    ]
    for form in sorted({c.form for c, _, _ in every if c.form.can_move_numbers},
                       key=lambda e: (-NUMERIC_EFFECTS.index(e.numbers), e.name)):  # fmt: skip
        places = (f"{_count_kernels(c, part)} {name}" for c, part, name in every if c.form == form)
        yield f"kernels: {form.title}{form.issue_suffix}", "; ".join(places), form.numbers


def _count_kernels(cause: Cause, part: Part) -> str:
    return f"{len(cause.pairs)} in {part.count_functions(cause)} of {len(part.pairs)}"


def _part_name(key: tuple[str, str]) -> str:
    return f"{key[0]}, {key[1]}"


def _list_operators(step: Step) -> Iterator[SummaryRow]:
    for key, part in step.parts.items():
        if number := sum(each.other_operators for each in part.pairs):
            yield (
                "other operators in graphs",
                f"{number} of {len(part.pairs)} {_part_name(key)}",
                UNKNOWN,
            )


def _unchanged_parts(step: Step) -> Iterator[SummaryRow]:
    for key, part in step.parts.items():
        if not part.possibly_different:
            yield (
                "nothing that can move numbers",
                f"{len(part.pairs)} of {len(part.pairs)} {_part_name(key)}",
                NO,
            )


def _list_breaks(step: Step) -> Iterator[SummaryRow]:
    for each in step.pairs:
        for change in each.upgrade.comparison.changes:
            if change.part == "graph breaks":
                what = "a graph break less" if change.after is None else "a graph break more"
                yield what, f"{each.before.name} for {each.before.target}: {change.title}", None


def _list_memory(step: Step) -> Iterator[SummaryRow]:
    for key, part in step.parts.items():
        more = [row for row in part.memory if row[2] > row[1]]
        if more:
            name, old, new = more[0]
            most = f"most in {name}, {old:,} to {new:,} bytes"
            yield "planned memory grew", f"{len(more)} of {_part_name(key)}; {most}", NO


def _list_claims(step: Step) -> Iterator[SummaryRow]:
    counts = (
        ("sentences of this book that held and do not", len(step.became_false)),
        ("sentences of this book that hold now", len(step.became_true)),
        ("beliefs with another verdict", len(step.verdicts)),
    )
    yield from ((what, str(number), None) for what, number in counts if number)


def levels(step: Step) -> Table:
    """Return the number of kernels at each level of agreement, with a row for each part."""
    return Table(
        title="Kernels of both, by how far they agree",
        name="levels",
        columns=("compiled", "each has", "kernels", SAME_TEXT, SAME_BODY, REWRITTEN, DIFFERS,
                 "on one side", "with a cause", "no cause known"),
        rows=tuple(_count_levels(key, part) for key, part in step.parts.items()),
    )  # fmt: skip


def _count_levels(key: tuple[str, str], part: Part) -> tuple[str | int, ...]:
    counts = part.levels
    alone = len(part.kernels) - sum(counts.values())
    agree = (counts.get(level, 0) for level in (SAME_TEXT, SAME_BODY, REWRITTEN, DIFFERS))
    known = part.differing - part.unnamed
    return _part_name(key), len(part.pairs), len(part.kernels), *agree, alone, known, part.unnamed


def causes(part: Part, name: str, title: str) -> Table:
    """Return the causes of differing kernels; those that can change results come first."""
    rows = []
    for each in part.causes:
        kernels, *rest = describe_cause(each).values()
        rows.append((kernels, part.count_functions(each), *rest))
    columns = ("kernels", "in", "cause", "moves numbers", "memory", "speed", "known as")
    return Table(title=title, name=name, columns=columns, rows=tuple(rows))


def memory(step: Step) -> Table:
    """Return planned bytes before and after, for pairs in which they differ."""
    every = [(key, row) for key, part in step.parts.items() for row in part.memory]
    return Table(
        title="Bytes of buffers planned at once, where they differ",
        name="memory",
        columns=("compiled", "for", step.before.release, step.after.release),
        rows=tuple((row[0], target, *row[1:]) for (_, target), row in every),
        formats=("", "", ",", ","),
    )


def stages(step: Step) -> Table:
    """Return the number of functions that differ, by stage and part."""
    counted = {_part_name(key): part.changed_by_stage() for key, part in step.parts.items()}
    found = {stage: [counts.get(stage, 0) for counts in counted.values()] for stage in PARTS}
    return Table(
        title="Of how many something differs, stage by stage",
        name="stages",
        columns=("stage", *counted),
        rows=tuple((stage, *numbers) for stage, numbers in found.items() if any(numbers)),
    )


def claims(step: Step) -> Table:
    """Return the claims whose outcome changed; those that no longer hold come first."""
    return Table(
        "Claims", "claims", ("claim", step.before.release, step.after.release), step.claims
    )


def verdicts(step: Step) -> Table:
    """Return the beliefs whose verdict changed."""
    columns = ("belief", step.before.release, step.after.release)
    return Table("Beliefs", "beliefs", columns, step.verdicts)
