"""``--format brief``: a few kilobytes of JSON with documented fields."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from tclab.model import FINDING_KINDS, Cost, Finding, Report, SourceLine
from tclab.render.report import brief

SKILL = Path(__file__).parents[2] / "src" / "tclab" / "skills" / "torch-compile" / "SKILL.md"
LINE = SourceLine("m.py", 3)
FOUND = Finding(
    "graph-break", "a reason", (LINE,), Cost(1, "number read a call", "counted"), ("Do.",)
)


def read(report: Report) -> dict[str, object]:
    data: dict[str, object] = json.loads(brief.text(report))
    return data


def test_findings_have_kind_line_cost_and_fix() -> None:
    data = read(Report(title="f", name="report", findings=(FOUND,)))
    assert data["format"] == brief.FORMAT and data["left_out"] == 0
    assert data["findings"] == [{
        "kind": "graph-break", "what": "a reason", "lines": ["m.py:3"],
        "cost": "1 number read a call, counted", "fixes": ["Do."],
        "about": "reference/findings.html#graph-break",
    }]  # fmt: skip


def test_many_long_findings_fit_and_are_counted() -> None:
    long = replace(FOUND, what="é" * 999 + " end", actions=("ö " * 999,) * 2, places=(LINE,) * 99)
    report = Report(title="f " * 9999, name="report", findings=(long,) * 50)
    data = read(report)
    assert len(brief.text(report).encode()) <= brief.MOST_BYTES
    assert isinstance(data["findings"], list) and isinstance(data["left_out"], int)
    assert len(data["findings"]) + data["left_out"] == 50


def test_the_skill_documents_every_field() -> None:
    skill = SKILL.read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", skill))
    data = read(Report(title="f", name="report", findings=(FOUND,)))
    findings = data["findings"]
    assert isinstance(findings, list)
    assert set(data) | set(findings[0]) <= documented
    assert f"`{brief.FORMAT}`" in skill and len(FINDING_KINDS) > 10
