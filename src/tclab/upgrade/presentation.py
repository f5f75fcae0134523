"""Describe an upgrade in words and tables, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tclab.compare.forms import LAST_BITS, NAN, UNKNOWN, YES
from tclab.compare.summary import CompileSummary
from tclab.compare.words import describe_cause, list_changes, tabulate_changes
from tclab.model import Measurement, ModeTimes, Table, Version
from tclab.render import parts
from tclab.system import machine
from tclab.upgrade.stages import Side, Upgrade

_NUMERIC_EFFECT_SENTENCES = {
    YES: "other numbers",
    UNKNOWN: "whether numbers move is not known",
    LAST_BITS: "numbers can move in their last bits",
    NAN: "numbers move where a row has a NaN",
}
#: Details of kernels that the table of causes shows.
_SHOWN_WITH_CAUSES = ("registers", "spilled", "shared", "bytes", "configuration")


def upgrade_title(upgrade: Upgrade) -> str:
    """Return the title: the function, the target and the two versions."""
    target = upgrade.before.snapshot.target or upgrade.after.snapshot.target
    device = f" for {target}" if target else ""
    return f"{upgrade.title}{device}: PyTorch {upgrade.before.torch} to {upgrade.after.torch}"


def summarize_verdict(upgrade: Upgrade) -> str:
    """Return the verdict in one or two sentences: whether results can change, and where."""
    if upgrade.failed_sides == 2:
        return "It compiles under neither."
    if upgrade.failed_sides:
        side = upgrade.after if upgrade.before.failure else upgrade.before
        return f"It compiles under PyTorch {side.torch} only."
    if not upgrade.first_difference and not upgrade.causes:
        return (
            "Nothing differs." if upgrade.is_complete else "Nothing of what was compared differs."
        )
    return f"{_numbers_sentence(upgrade)} {_first_difference_sentence(upgrade)}"


def _numbers_sentence(upgrade: Upgrade) -> str:
    lacking = "" if upgrade.is_complete else ", as far as it was compared"
    if upgrade.first_numeric_difference == "kernels":
        form = upgrade.causes[0].form
        kernels = parts.count(len(upgrade.causes[0].pairs), "kernel")
        return f"{kernels}: {_NUMERIC_EFFECT_SENTENCES[form.numbers]} ({form.title}){lacking}."
    if upgrade.first_numeric_difference:
        return (
            f"Numbers can move: the {upgrade.first_numeric_difference} are not the same{lacking}."
        )
    return f"Nothing that PyTorch writes otherwise can move numbers{lacking}."


def _first_difference_sentence(upgrade: Upgrade) -> str:
    if not upgrade.first_difference:
        return "What differs is the same, written in another way."
    return f"The first stage that differs: {upgrade.first_difference}."


def list_problems(upgrade: Upgrade) -> Iterator[tuple[str, str]]:
    """Yield failures to compile and parts that were not compared, each with the next step."""
    for side in (upgrade.before, upgrade.after):
        if Version.parse(side.torch).release > machine.NEWEST:
            newest = ".".join(map(str, machine.NEWEST))
            head = f"PyTorch {side.torch} is newer than {newest}, the newest that this tclab knows."
            unknown = "Its known faults are not listed, and no Triton is known to belong to it."
            yield f"{head} {unknown}", "a newer tclab, or --with triton==X.Y.Z for a --target"
        if gap := side.failure:
            head = f"It does not compile under PyTorch {side.torch}."
            yield f"{head} {gap.place}: {gap.cause}", gap.next_step
        for gap in side.gaps:
            head = f"Not compared under PyTorch {side.torch}."
            yield f"{head} {gap.place}: {gap.cause}", gap.next_step


def list_findings(upgrade: Upgrade) -> Iterator[str]:
    """Yield lines on the findings that are new (with a fix), are gone, or have another cost; worse
    ones first.
    """
    found = [each for each in upgrade.comparison.changes if each.part == "findings"]
    now = CompileSummary(upgrade.after.snapshot, findings=upgrade.after.findings)
    yield from list_changes(sorted(found, key=lambda each: not each.worse), now)


def list_tables(upgrade: Upgrade) -> list[Table]:
    """Return the tables that have rows: causes, other changes, stages, compile seconds, times of
    calls.
    """
    every = (
        tabulate_causes(upgrade),
        tabulate_other_changes(upgrade),
        tabulate_stages(upgrade),
        tabulate_seconds(upgrade),
        tabulate_calls(upgrade),
    )
    return [] if upgrade.failed_sides else [table for table in every if table.rows]


def tabulate_causes(upgrade: Upgrade) -> Table:
    """Return the table of causes. Causes that can change results come first."""
    return Table(
        title="Why kernels differ",
        name="causes",
        columns=("kernels", "cause", "moves numbers", "memory", "speed", "known as"),
        rows=tuple(tuple(describe_cause(each).values()) for each in upgrade.causes),
    )


def tabulate_other_changes(upgrade: Upgrade) -> Table:
    """Return the table of all changes that are not in the kernels' code; worse changes come
    first.
    """
    shown = (*_SHOWN_WITH_CAUSES, "findings")
    others = (e for e in upgrade.comparison.changes if {e.part, e.detail}.isdisjoint(shown))
    ordered = sorted((e for e in others if not e.is_code), key=lambda each: not each.worse)
    judged: dict[bool | None, str | None] = {True: "worse", False: "better", None: None}
    sides = upgrade.before.torch, upgrade.after.torch
    table = tabulate_changes(ordered, sides, lambda change: judged[change.worse])
    return replace(table, title="What else differs", name="changes")


def tabulate_stages(upgrade: Upgrade) -> Table:
    """Return the table of stages: the size on either side, and the number of differences."""
    return Table(
        title="Stage by stage",
        name="stages",
        columns=("stage", upgrade.before.torch, upgrade.after.torch, "differences"),
        rows=tuple((*row, differing or None) for *row, differing in upgrade.stage_rows),
        formats=("", ",", ",", ","),
        caption="CUDA graphs: the reasons why none is recorded. Memory: the most bytes of buffers "
        "that are planned at once. Findings: those that no other row counts.",
    )


def tabulate_seconds(upgrade: Upgrade) -> Table:
    """Return the table of compile seconds. In each round, one side compiles after the other."""
    return Table(
        title="Compile seconds, in turns",
        name="compile_seconds",
        columns=("round", upgrade.before.torch, upgrade.after.torch, "ratio"),
        rows=tuple(upgrade.timing_rows),
        units=("", "s", "s", "×"),
        formats=("", ".2f", ".2f", ".2f"),
        caption="Each compile in a process of its own, on this machine; the last ratio is that of "
        "the medians. Neither the verdict nor the status says anything of seconds.",
    )


def tabulate_calls(upgrade: Upgrade) -> Table:
    """Return the table of the measured calls, in eager and compiled, under each PyTorch: times,
    memory, and whether the results agree with eager's.
    """
    sides = [side for side in (upgrade.before, upgrade.after) if side.measurement]
    return Table(
        title="The calls, measured",
        name="calls",
        columns=("PyTorch", "mode", "eager", "compiled", "times as fast", "verdict",
                 "its kernels", "memory, eager", "memory, compiled", "results"),
        rows=tuple(
            _call_row(side, found, found.eager, mode)
            for side in sides
            if (found := side.measurement) and found.eager
            for mode in found.compiled
        ),
        units=("", "", "µs", "µs", "×", "", "µs", "KiB", "KiB", ""),
        formats=("", "", ",.1f", ",.1f", ".2f", "", ",.1f", ",.1f", ",.1f", ""),
        caption="Compiled and eager took turns; one PyTorch was measured after the other. Memory "
        "is the most that a call holds. The kernels are those of the first compiled mode. Neither "
        "the verdict nor the status says anything of times and memory.",
    )  # fmt: skip


def _call_row(
    side: Side, found: Measurement, eager: ModeTimes, mode: ModeTimes
) -> tuple[str | float | None, ...]:
    kernels = side.kernel_seconds if mode is found.compiled[0] else None
    before, after = (m.memory.peak / 2**10 if m.memory else None for m in (eager, mode))
    return (
        side.torch, mode.mode, 1e6 * eager.median, 1e6 * mode.median, found.speedups(mode)[1],
        found.verdict(mode), kernels and 1e6 * kernels, before, after,
        side.snapshot.agreement or "not compared",
    )  # fmt: skip
