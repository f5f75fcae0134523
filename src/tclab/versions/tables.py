"""A step from one PyTorch to the next, as tables: what to look at first, and all that differs."""

from __future__ import annotations

from collections.abc import Iterator

from tclab.model import Table
from tclab.snapshot.compare import DIFFERS, PARTS, REWRITTEN, SAME_BODY, SAME_TEXT
from tclab.upgrade import words
from tclab.upgrade.causes import Cause
from tclab.upgrade.rules import NO, RANK, UNKNOWN
from tclab.versions.step import Part, Step

#: What a row of `first` is about, how many there are, and what of it can move numbers.
First = tuple[str, str, str | None]


def first(step: Step) -> Table:
    """What a user who upgrades should look at, worst first."""
    moving = [*_compiles(step), *_numbers(step), *_operators(step)]
    rows = [*moving, *_breaks(step), *_memory(step), *_sentences(step), *_still(step)]
    return Table(
        title=f"From {step.before.release} to {step.after.release}, worst first",
        name="first",
        columns=("what differs", "where", "moves numbers"),
        rows=tuple(rows),
    )


def _compiles(step: Step) -> Iterator[First]:
    for part in step.parts.values():
        for each in part.on_one_side:
            release = (step.after if each.upgrade.before.failure else step.before).release
            yield f"compiles under {release} only", f"{each.of.name} for {each.of.target}", None


def _numbers(step: Step) -> Iterator[First]:
    """The causes that move numbers, or of which nobody knows that they do not, of all parts."""
    every = [
        (cause, part, _short(key)) for key, part in step.parts.items() for cause in part.causes
    ]
    for form in sorted({c.form for c, _, _ in every if c.form.moves},
                       key=lambda form: (-RANK.index(form.numbers), form.name)):  # fmt: skip
        places = (f"{_kernels(c, part)} {name}" for c, part, name in every if c.form == form)
        known = f" ({form.issue})" if form.issue else ""
        yield f"kernels: {form.name.replace('`', '')}{known}", "; ".join(places), form.numbers


def _kernels(cause: Cause, part: Part) -> str:
    return f"{len(cause.pairs)} in {part.functions(cause)} of {len(part.pairs)}"


def _short(key: tuple[str, str]) -> str:
    return f"{key[0]}, {key[1]}"


def _operators(step: Step) -> Iterator[First]:
    for key, part in step.parts.items():
        if number := sum(each.other_operators for each in part.pairs):
            yield (
                "other operators in graphs",
                f"{number} of {len(part.pairs)} {_short(key)}",
                UNKNOWN,
            )


def _still(step: Step) -> Iterator[First]:
    for key, part in step.parts.items():
        if not part.moving:
            yield (
                "nothing that can move numbers",
                f"{len(part.pairs)} of {len(part.pairs)} {_short(key)}",
                NO,
            )


def _breaks(step: Step) -> Iterator[First]:
    for each in step.pairs:
        for change in each.upgrade.comparison.changes:
            if change.part == "graph breaks":
                what = "a graph break more" if change.after else "a graph break less"
                yield what, f"{each.of.name} for {each.of.target}: {change.title}", None


def _memory(step: Step) -> Iterator[First]:
    for key, part in step.parts.items():
        more = [row for row in part.memory if row[2] > row[1]]
        if more:
            name, old, new = more[0]
            most = f"most in {name}, {old:,} to {new:,} bytes"
            yield "planned memory grew", f"{len(more)} of {_short(key)}; {most}", NO


def _sentences(step: Step) -> Iterator[First]:
    counts = (
        ("sentences of this book that held and do not", len(step.became_false)),
        ("sentences of this book that hold now", len(step.became_true)),
        ("beliefs with another verdict", len(step.verdicts)),
    )
    yield from ((what, str(number), None) for what, number in counts if number)


def levels(step: Step) -> Table:
    """How far kernels agree, part by part."""
    return Table(
        title="Kernels of both, by how far they agree",
        name="levels",
        columns=("compiled", "each has", "kernels", SAME_TEXT, SAME_BODY, REWRITTEN, DIFFERS,
                 "on one side", "with a cause", "no cause known"),
        rows=tuple(_levels(key, part) for key, part in step.parts.items()),
    )  # fmt: skip


def _levels(key: tuple[str, str], part: Part) -> tuple[str | int, ...]:
    counts = part.levels
    alone = len(part.kernels) - sum(counts.values())
    agree = (counts.get(level, 0) for level in (SAME_TEXT, SAME_BODY, REWRITTEN, DIFFERS))
    known = part.differing - part.unnamed
    return _short(key), len(part.pairs), len(part.kernels), *agree, alone, known, part.unnamed


def causes(part: Part, name: str, title: str) -> Table:
    """Why kernels differ, what can move numbers first."""
    rows = [
        (len(each.pairs), part.functions(each), each.form.name.replace("`", ""), each.form.numbers,
         *words.effects(each), each.form.issue or None) for each in part.causes
    ]  # fmt: skip
    columns = ("kernels", "in", "cause", "moves numbers", "memory", "speed", "known as")
    return Table(title=title, name=name, columns=columns, rows=tuple(rows))


def memory(step: Step) -> Table:
    """Whose planned bytes differ."""
    every = [(key, row) for key, part in step.parts.items() for row in part.memory]
    return Table(
        title="Bytes of buffers planned at once, where they differ",
        name="memory",
        columns=("compiled", "for", step.before.release, step.after.release),
        rows=tuple((row[0], target, *row[1:]) for (_, target), row in every),
        formats=("", "", ",", ","),
    )


def stages(step: Step) -> Table:
    """Of how many functions something differs, stage by stage."""
    counted = {_short(key): part.stages() for key, part in step.parts.items()}
    found = {stage: [of.get(stage, 0) for of in counted.values()] for stage in PARTS}
    return Table(
        title="Of how many something differs, stage by stage",
        name="stages",
        columns=("stage", *counted),
        rows=tuple((stage, *numbers) for stage, numbers in found.items() if any(numbers)),
    )


def claims(step: Step) -> Table:
    """Claims of which something else came, those that do not hold any more first."""
    return Table(
        "Claims", "claims", ("claim", step.before.release, step.after.release), step.claims
    )


def verdicts(step: Step) -> Table:
    """Beliefs with another verdict."""
    columns = ("belief", step.before.release, step.after.release)
    return Table("Beliefs", "beliefs", columns, step.verdicts)
