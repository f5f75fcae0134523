"""What another PyTorch changes, in words and tables for the terminal and the page alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median

from tclab.model import Snapshot, Table
from tclab.render import parts
from tclab.snapshot.compare import PARTS
from tclab.upgrade.causes import Cause
from tclab.upgrade.rules import LAST_BITS, NAN, UNKNOWN, YES
from tclab.upgrade.stages import Upgrade

_MOVED = {
    YES: "other numbers",
    UNKNOWN: "whether numbers move is not known",
    LAST_BITS: "numbers can move in their last bits",
    NAN: "numbers move where a row has a NaN",
}
#: Of a kernel, what the causes say.
_IN_CAUSES = ("registers", "spilled", "shared", "bytes", "configuration")


def title(upgrade: Upgrade) -> str:
    """Of what, for which device, from which version to which."""
    target = upgrade.before.snapshot.target or upgrade.after.snapshot.target
    device = f" for {target}" if target else ""
    return f"{upgrade.title}{device}: PyTorch {upgrade.before.torch} to {upgrade.after.torch}"


def verdict(upgrade: Upgrade) -> str:
    """What a user who upgrades should know first."""
    if upgrade.failed == 2:
        return "It compiles under neither."
    if upgrade.failed:
        side = upgrade.after if upgrade.before.failure else upgrade.before
        return f"It compiles under PyTorch {side.torch} only."
    if not upgrade.first and not upgrade.causes:
        return "Nothing differs." if upgrade.complete else "Nothing of what was compared differs."
    return f"{_numbers(upgrade)} {_first(upgrade)}"


def _numbers(upgrade: Upgrade) -> str:
    lacking = "" if upgrade.complete else ", as far as it was compared"
    if upgrade.moves_numbers == "kernels":
        form = upgrade.causes[0].form
        kernels = parts.count(len(upgrade.causes[0].pairs), "kernel")
        return f"{kernels}: {_MOVED[form.numbers]} ({form.name.replace('`', '')}){lacking}."
    if upgrade.moves_numbers:
        return f"Numbers can move: the {upgrade.moves_numbers} are not the same{lacking}."
    return f"Nothing that PyTorch writes otherwise can move numbers{lacking}."


def _first(upgrade: Upgrade) -> str:
    if not upgrade.first:
        return "What differs is the same, written in another way."
    return f"The first stage that differs: {upgrade.first}."


def problems(upgrade: Upgrade) -> Iterator[tuple[str, str]]:
    """Why a side does not compile, known faults, and what was not compared; each with the next
    step.
    """
    for side in (upgrade.before, upgrade.after):
        if gap := side.failure:
            head = f"It does not compile under PyTorch {side.torch}."
            yield f"{head} {gap.place}: {gap.cause}", gap.next_step
        for advice in side.advisories:
            yield f"A known fault of PyTorch {side.torch}: {advice}", advice.workaround
        for gap in side.lacks:
            head = f"Not compared under PyTorch {side.torch}."
            yield f"{head} {gap.place}: {gap.cause}", gap.next_step


def tables(upgrade: Upgrade) -> list[Table]:
    """Those that have rows: why kernels differ, what else does, every stage, and seconds."""
    every = (causes(upgrade), changes(upgrade), by_stage(upgrade), compile_seconds(upgrade))
    return [] if upgrade.failed else [table for table in every if table.rows]


def causes(upgrade: Upgrade) -> Table:
    """Why kernels differ, what can move numbers first."""
    rows = [
        (len(each.pairs), each.form.name.replace("`", ""), each.form.numbers, *effects(each),
         each.form.issue or None) for each in upgrade.causes
    ]  # fmt: skip
    return Table(
        title="Why kernels differ",
        name="causes",
        columns=("kernels", "cause", "moves numbers", "memory", "speed", "known as"),
        rows=tuple(rows),
    )


def effects(cause: Cause) -> tuple[str | None, str | None]:
    """On memory and on speed: what the form says, and what was counted of its kernels."""
    memory = [cause.form.memory, _counted(cause, "bytes", "bytes moved")]
    registers = _counted(cause, "registers", "registers")
    speed = [cause.form.speed, registers, _counted(cause, "spilled", "bytes spilled")]
    return "; ".join(filter(None, memory)) or None, "; ".join(filter(None, speed)) or None


def _counted(cause: Cause, name: str, called: str) -> str:
    """What changed over the cause's kernels, '' where nothing did."""
    both = cause.total(name)
    if both is None or both[0] == both[1]:
        return ""
    return f"{called} {both[0]:,} to {both[1]:,}"


def changes(upgrade: Upgrade) -> Table:
    """What differs beside the kernels' code, worse first."""
    named = [e for e in upgrade.comparison.changes if e.detail not in _IN_CAUSES]
    plain = [e for e in named if "\n" not in e.before + e.after]
    judged = {True: "worse", False: "better", None: None}
    ordered = sorted(plain, key=lambda each: not each.worse)
    return Table(
        title="What else differs",
        name="changes",
        columns=("stage", "what", upgrade.before.torch, upgrade.after.torch, "judged"),
        rows=tuple((e.part, e.title, e.before, e.after, judged[e.worse]) for e in ordered),
    )


def by_stage(upgrade: Upgrade) -> Table:
    """Every stage from the top: how many on either side, and how many things differ in it."""
    differing = Counter(each.part for each in upgrade.comparison.changes)
    differing["kernels"] = len({id(pair) for cause in upgrade.causes for pair in cause.pairs})
    before, after = (_counts(side.snapshot) for side in (upgrade.before, upgrade.after))
    return Table(
        title="Stage by stage",
        name="stages",
        columns=("stage", upgrade.before.torch, upgrade.after.torch, "differences"),
        rows=tuple((part, before[part], after[part], differing[part] or None) for part in PARTS),
        formats=("", ",", ",", ","),
        caption="CUDA graphs: the reasons why none is recorded. Memory: the most bytes of buffers "
        "that are planned at once.",
    )


def compile_seconds(upgrade: Upgrade) -> Table:
    """A row a round, in which one side compiled right after the other."""
    rounds = list(zip(upgrade.before.seconds, upgrade.after.seconds))
    middle = [("median", *map(median, zip(*rounds)))] if rounds else []
    named = [*((str(number), *both) for number, both in enumerate(rounds, 1)), *middle]
    return Table(
        title="Compile seconds, in turns",
        name="compile_seconds",
        columns=("round", upgrade.before.torch, upgrade.after.torch, "ratio"),
        rows=tuple((name, before, after, after / before) for name, before, after in named),
        units=("", "s", "s", "×"),
        formats=("", ".2f", ".2f", ".2f"),
        caption="Each compile in a process of its own, on this machine; the last ratio is that of "
        "the medians. Neither the verdict nor the status says anything of seconds.",
    )


def _counts(of: Snapshot) -> dict[str, int | None]:
    return {
        "graph breaks": len(of.breaks),
        "recompiles": len(of.recompiles),
        "graphs": sum(graph.stage == "dynamo" for graph in of.graphs),
        "kernels": len(of.kernels),
        "library calls": sum(of.library_calls.values()),
        "guards": of.guards,
        "CUDA graphs": len(of.skipped_graphs),
        "memory": of.planned_bytes,
    }
