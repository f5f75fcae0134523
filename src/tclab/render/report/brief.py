"""Write a report as a few KB of JSON for programs: the verdict, the findings, the next steps."""

from __future__ import annotations

import json

from tclab.model import FINDING_KINDS, Finding, Report
from tclab.render.report import counts, words

FORMAT = "tclab brief 1"
#: The most bytes of a brief report.
MOST_BYTES = 4096
#: The most characters of one text.
_MOST_CHARACTERS = 360
#: The most lines of one finding.
_MOST_LINES = 4
_NEXT_STEP = "the same command with --format html -o REPORT.html for every stage, or --format json"


def text(report: Report) -> str:
    """Return one JSON object of at most MOST_BYTES. The guide of the command documents its fields.
    Findings at the end that do not fit are left out and counted.
    """
    for kept in range(len(report.findings), -1, -1):
        content = json.dumps(_make_fields(report, kept), indent=1, ensure_ascii=False) + "\n"
        if len(content.encode()) <= MOST_BYTES:
            return content
    raise AssertionError("every text is cut, so no head of a report is too long")


def _make_fields(report: Report, finding_count: int) -> dict[str, object]:
    provenance = report.provenance
    return {
        "format": FORMAT,
        "title": _cut(report.title),
        "target": report.target,
        "torch": provenance.torch,
        "triton": provenance.triton,
        "complete": report.complete,
        "verdict": _cut(counts.summary(report)),
        "bound": _cut(words.bound(report.cost)),
        "measured": _cut(words.measurement(report.measurement)),
        "results": _cut(f"{report.agreement}"),
        "findings": [_encode_finding(each) for each in report.findings[:finding_count]],
        "left_out": len(report.findings) - finding_count,
        "missing": [_cut(text) for text, _ in words.gaps(report)][:2],
        "next": _NEXT_STEP,
    }


def _encode_finding(finding: Finding) -> dict[str, object]:
    return {
        "kind": finding.name,
        "what": _cut(finding.what),
        "lines": [str(place) for place in finding.places[:_MOST_LINES]],
        "cost": str(finding.cost),
        "fixes": [_cut(action) for action in finding.actions],
        "about": FINDING_KINDS[finding.name].address,
    }


def _cut(text: str) -> str:
    """Shorten a long text at the end of a word."""
    if len(text) <= _MOST_CHARACTERS:
        return text
    return text[:_MOST_CHARACTERS].rpartition(" ")[0] + " …"
