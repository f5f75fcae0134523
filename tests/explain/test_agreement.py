"""What a report says of the results beside eager's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tclab import findings
from tclab.cli.explaining import summary
from tclab.explain import ExplainRequest, Report, explain_named
from tclab.findings import Evidence
from tclab.model import Agreement, Difference
from tclab.render import text as rendered
from tclab.render.report import document

FILE = """\
import torch


def f(x):
    return torch.relu(x) + 1


def example_inputs():
    return (torch.ones(8),)
"""


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    path = tmp_path_factory.mktemp("agreement") / "own.py"
    path.write_text(FILE, encoding="utf-8")
    flags: dict[str, bool | None] = {"default": None, "no": False}
    return {
        name: explain_named(ExplainRequest.parse(f"{path}:f", compare=compare))
        for name, compare in flags.items()
    }


def test_a_report_says_that_the_results_are_eagers(explained: dict[str, Report]) -> None:
    report = explained["default"]
    assert str(report.agreement) == "equal to eager, to the bit"
    assert report.snapshot.agreement == "equal"
    assert "Results: equal to eager, to the bit." in document.html(report)
    assert "Results: equal to eager, to the bit." in rendered(report)


def test_without_the_comparison_it_says_so(explained: dict[str, Report]) -> None:
    report = explained["no"]
    assert str(report.agreement) == "not compared with eager: --no-compare"
    assert report.snapshot.agreement == ""


def test_a_difference_is_the_first_finding_with_its_next_step(
    explained: dict[str, Report], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = Difference("output 0", "values", "1", "0", 448, 512, 7, 8)
    found = Agreement("differs", differences=(wrong,), stage="Inductor", way="dynamic=True")
    (finding,) = findings.find(Evidence(agreement=found, breaks=explained["default"].breaks))
    report = replace(explained["default"], agreement=found, findings=(finding,))
    assert "<strong>results differ</strong>" in document.html(report)
    summary.print_summary(report, Path(__file__))
    printed = capsys.readouterr().out
    assert "differs from eager: output 0, 7 of 8 rows, first in Inductor" in printed
    assert "fix: dynamic=True: tried" in printed
