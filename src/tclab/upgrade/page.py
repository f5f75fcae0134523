"""Write the effects of another PyTorch as one self-contained HTML file, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from tclab.compare.causes import Cause
from tclab.compare.page import draw_pair
from tclab.compare.pairs import KernelPair
from tclab.compare.words import describe_cause
from tclab.model import encode
from tclab.render import figure, parts, standalone
from tclab.render.escape import COMMA, NOTHING, Html, esc, join, tag
from tclab.upgrade import presentation
from tclab.upgrade.stages import Side, Upgrade

FORMAT = "tclab upgrade 1"


def render_page(upgrades: Sequence[Upgrade]) -> str:
    """Return the whole page; several functions become sections with a list of links."""
    if len(upgrades) == 1:
        return standalone.page(
            presentation.upgrade_title(upgrades[0]), join(_render_upgrade(upgrades[0]))
        )
    links = [
        tag(
            "li",
            tag("a", esc(each.title), href=f"#name{number}"),
            esc(f": {presentation.summarize_verdict(each)}"),
        )
        for number, each in enumerate(upgrades)
    ]
    bodies = [
        tag(
            "section",
            tag("h2", esc(presentation.upgrade_title(each)), id=f"name{number}"),
            *_render_upgrade(each),
        )
        for number, each in enumerate(upgrades)
    ]
    title = f"{parts.count(len(upgrades), 'name')} under two PyTorches"
    return standalone.page(title, join([tag("ul", *links), *bodies]))


def _render_upgrade(upgrade: Upgrade) -> Iterator[Html]:
    yield tag(
        "p", tag("strong", esc(presentation.summarize_verdict(upgrade))), class_="explain-lead"
    )
    sides = [side.snapshot for side in (upgrade.before, upgrade.after) if not side.failure]
    stamps = (f"PyTorch {each.torch}, Triton {each.triton or 'none'}" for each in sides)
    yield tag("p", *(tag("span", esc(each)) for each in stamps), class_="tclab-stamp")
    yield from (tag("p", esc(line)) for line in presentation.list_findings(upgrade))
    for problem, step in presentation.list_problems(upgrade):
        lines = tag("p", esc(problem)), tag("p", esc(f"Next: {step}")) if step else NOTHING
        yield tag("div", *lines, class_="explain-alert", role="alert")
    for table in presentation.list_tables(upgrade):
        yield figure(table)
        if table.name == "causes":
            yield from (
                piece for cause in upgrade.causes for piece in _render_cause(cause, upgrade)
            )


def _render_cause(cause: Cause, upgrade: Upgrade) -> Iterator[Html]:
    """Yield a cause's name, its facts, and an example pair of kernels side by side."""
    form, pair = cause.form, cause.example
    yield tag("h3", parts.prose(form.name))
    if form.note:
        yield tag("p", esc(f"{form.note[:1].upper()}{form.note[1:]}."))
    url = f"https://github.com/pytorch/pytorch/issues/{form.issue_number}"
    issue = tag("a", esc(form.issue), href=url) if form.issue_number else NOTHING
    lines = join([esc(line) for line in upgrade.find_user_lines(pair.kernels[-1])], COMMA)
    differences = ((name, esc(values)) for name, values in _list_launch_differences(pair))
    facts = [("known as", issue), ("from", lines), *differences]
    yield tag("div", parts.facts(facts), class_="tclab")
    if pair.old and pair.new and pair.old.body == pair.new.body:
        return
    labels = f"PyTorch {upgrade.before.torch}", f"PyTorch {upgrade.after.torch}"
    yield figure(draw_pair(pair, labels))


def _list_launch_differences(pair: KernelPair) -> Iterator[tuple[str, str]]:
    """Yield each launch setting that differs, and its two values."""
    if pair.old and pair.new:
        one, two = ({**each.launch, "configuration": each.configuration} for each in pair.kernels)
        for name in sorted(one.keys() | two.keys()):
            if one.get(name) != two.get(name):
                yield name, f"{one.get(name, 'none')} to {two.get(name, 'none')}"


def to_json(upgrades: Sequence[Upgrade]) -> str:
    """Return one JSON object: the machine, and each function's changes, causes and snapshots."""
    sides = (side for each in upgrades for side in (each.before, each.after))
    reports = (side.result.report for side in sides if side.result.report)
    machine = next((asdict(report.provenance) for report in reports), None)
    data = {
        "format": FORMAT,
        "machine": machine,
        "names": [_upgrade_data(each) for each in upgrades],
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _upgrade_data(upgrade: Upgrade) -> dict[str, object]:
    one, two = upgrade.before.torch, upgrade.after.torch
    return {
        "name": upgrade.title,
        "verdict": presentation.summarize_verdict(upgrade),
        "first": upgrade.first_difference,
        "complete": upgrade.is_complete,
        "moves_numbers": upgrade.first_numeric_difference,
        "changes": [each.to_data() for each in upgrade.comparison.changes],
        "causes": list(map(describe_cause, upgrade.causes)),
        "stages": [
            {"stage": stage, one: before, two: after, "differences": differing or None}
            for stage, before, after, differing in upgrade.stage_rows
        ],
        "compile_seconds": [
            {"round": name, one: before, two: after, "ratio": ratio}
            for name, before, after, ratio in upgrade.timing_rows
        ],
        "before": _side_data(upgrade.before),
        "after": _side_data(upgrade.after),
    }


def _side_data(side: Side) -> dict[str, object]:
    failure = asdict(side.failure) if side.failure else None
    lacks = [asdict(each) for each in side.gaps]
    snapshot = None if side.failure else encode(side.snapshot)
    return {
        "torch": side.torch,
        "failure": failure,
        "lacks": lacks,
        "findings": [encode(each) for each in side.findings],
        "snapshot": snapshot,
    }
