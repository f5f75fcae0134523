"""What another PyTorch changes, as one HTML file that stands alone, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from tclab.model import Diff, Kernel, KernelIdentity, encode
from tclab.render import figure, parts, standalone
from tclab.render.escape import COMMA, NOTHING, Html, esc, join, tag
from tclab.snapshot import KernelPair
from tclab.upgrade import words
from tclab.upgrade.causes import Cause
from tclab.upgrade.stages import Side, Upgrade

FORMAT = "tclab upgrade 1"


def html(upgrades: Sequence[Upgrade]) -> str:
    """The whole page: one name under its own title, several below each other."""
    if len(upgrades) == 1:
        return standalone.page(words.title(upgrades[0]), join(_one(upgrades[0])))
    links = [
        tag("li", tag("a", esc(each.title), href=f"#name{number}"), esc(f": {words.verdict(each)}"))
        for number, each in enumerate(upgrades)
    ]
    bodies = [
        tag("section", tag("h2", esc(words.title(each)), id=f"name{number}"), *_one(each))
        for number, each in enumerate(upgrades)
    ]
    title = f"{parts.count(len(upgrades), 'name')} under two PyTorches"
    return standalone.page(title, join([tag("ul", *links), *bodies]))


def _one(upgrade: Upgrade) -> Iterator[Html]:
    yield tag("p", tag("strong", esc(words.verdict(upgrade))), class_="explain-lead")
    sides = [side.snapshot for side in (upgrade.before, upgrade.after) if not side.failure]
    made = (f"PyTorch {each.torch}, Triton {each.triton or 'none'}" for each in sides)
    yield tag("p", *(tag("span", esc(each)) for each in made), class_="tclab-stamp")
    for said, step in words.problems(upgrade):
        lines = tag("p", esc(said)), tag("p", esc(f"Next: {step}")) if step else NOTHING
        yield tag("div", *lines, class_="explain-alert", role="alert")
    for table in words.tables(upgrade):
        yield figure(table)
        if table.name == "causes":
            yield from (piece for cause in upgrade.causes for piece in _cause(cause, upgrade))


def _cause(cause: Cause, upgrade: Upgrade) -> Iterator[Html]:
    """Its name, what is known of it, and two kernels side by side."""
    form, pair = cause.form, cause.example
    yield tag("h3", parts.prose(form.name))
    if form.note:
        yield tag("p", esc(f"{form.note[:1].upper()}{form.note[1:]}."))
    issue = form.issue.partition("#")[2]
    known = tag("a", esc(form.issue), href=f"https://github.com/pytorch/pytorch/issues/{issue}")
    lines = join([esc(line) for line in upgrade.lines(pair.kernels[-1])], COMMA)
    beside = ((name, esc(said)) for name, said in _beside(pair))
    facts = [("known as", known if issue else NOTHING), ("from", lines), *beside]
    yield tag("div", parts.facts(facts), class_="tclab")
    if pair.old and pair.new and pair.old.body == pair.new.body:
        return
    labels = f"PyTorch {upgrade.before.torch}", f"PyTorch {upgrade.after.torch}"
    yield figure(Diff(pair.kernels[-1].title, "", labels, _listing(pair.old), _listing(pair.new)))


def _beside(pair: KernelPair) -> Iterator[tuple[str, str]]:
    """What is not the same beside the code of both."""
    if pair.old and pair.new:
        one, two = ({**each.launch, "configuration": each.configuration} for each in pair.kernels)
        for name in sorted(one.keys() | two.keys()):
            if one.get(name) != two.get(name):
                yield name, f"{one.get(name, 'none')} to {two.get(name, 'none')}"


def _listing(kernel: KernelIdentity | None) -> tuple[Kernel, ...]:
    """The kernel, its values and buffers named in the order in which they occur."""
    if kernel is None:
        return ()
    stage = "kernel" if kernel.language == "python" else "cpp"
    return (Kernel(kernel.title, "", f"{kernel.body}\n", kernel.language, stage),)


def to_json(upgrades: Sequence[Upgrade]) -> str:
    """One JSON object: the machine, what the tables say of each name, and both snapshots."""
    sides = (side for each in upgrades for side in (each.before, each.after))
    reports = (side.capture.report for side in sides if side.capture.report)
    machine = next((asdict(report.provenance) for report in reports), None)
    data = {"format": FORMAT, "machine": machine, "names": [_data(each) for each in upgrades]}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _data(upgrade: Upgrade) -> dict[str, object]:
    return {
        "name": upgrade.title,
        "verdict": words.verdict(upgrade),
        "first": upgrade.first,
        "complete": upgrade.complete,
        "moves_numbers": upgrade.moves_numbers,
        "changes": [asdict(each) for each in upgrade.comparison.changes],
        **{each.name: [dict(zip(each.columns, row)) for row in each.rows]
           for each in (words.causes(upgrade), words.by_stage(upgrade),
                        words.compile_seconds(upgrade))},
        "before": _side(upgrade.before),
        "after": _side(upgrade.after),
    }  # fmt: skip


def _side(side: Side) -> dict[str, object]:
    failure = asdict(side.failure) if side.failure else None
    lacks = [asdict(each) for each in side.lacks]
    snapshot = None if side.failure else encode(side.snapshot)
    return {
        "torch": side.torch,
        "failure": failure,
        "lacks": lacks,
        "advisories": [asdict(each) for each in side.advisories],
        "snapshot": snapshot,
    }
