"""The summary of a report: counts and causes, no differences."""

from __future__ import annotations

import json

import pytest

from tclab.workshop.verify import summary

COUNTS = {"kernels": 2, "identical": 2, "measured": 0, "either": 0, "different": 0, "refused": 0}


@pytest.mark.parametrize(
    ("verdict", "reason", "why"),
    [
        ("identical", "", ""),
        ("open", "pad: mm of [2, 3] @ [3, 4], a.py:1", "1 padding that the GPU times"),
        ("different", "pad: mm, a:1; pad: mm, a:2; in neither: x", "2 paddings that the GPU times"),
        ("different", "--- gpu\n+++ target\n-a\n+ValueError: no", ""),
        ("failed", "Traceback\n  File x\nMyError: no kernel\n", "MyError: no kernel"),
        ("failed", "got RuntimeError('two devices')\nset X=1\n", "RuntimeError('two devices')"),
        ("failed", f"ValueError: {'x' * 200}", f"ValueError: {'x' * 108} …"),
    ],
)  # fmt: skip
def test_why_is_a_line(verdict: str, reason: str, why: str) -> None:
    assert summary.find_cause(verdict, reason) == why


def test_a_row_a_line_and_no_differences(tmp_path) -> None:
    row = {
        "name": "text/a",
        **COUNTS,
        "verdict": "same kernels",
        "reason": "-x\n+y",
        "seconds": [1, 2],
    }
    path = tmp_path / "report.json"
    path.write_text(
        json.dumps({"environment": {"gpu": "G"}, "seconds": 3.0, "functions": [row] * 2})
    )
    summary.main(path, tmp_path / "short.json")
    out = (tmp_path / "short.json").read_text()
    assert len(out.splitlines()) == 4
    told = json.loads(out)
    assert told["environment"] == {"gpu": "G"}
    assert [m["name"] for m in told["models"]] == ["text/a"] * 2
    assert "reason" not in told["models"][0]


def test_the_samples_of_an_operator_are_one_row(tmp_path) -> None:
    open_row = {
        **COUNTS,
        "identical": 0,
        "either": 2,
        "verdict": "open",
        "reason": "pad: mm of [5, 5] @ [5, 5], tclab/workshop/catalog/operators.py:137 (return)",
    }
    rows = [
        {"name": "operators/add-float32-0", **COUNTS, "verdict": "identical", "reason": ""},
        {"name": "operators/mm-float32-0", **COUNTS, "verdict": "identical", "reason": ""},
        {"name": "operators/mm-bfloat16-0", **open_row},
    ]
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"environment": {"gpu": "G"}, "seconds": 3.0, "functions": rows}))
    summary.main(path, tmp_path / "short.json")
    add, mm = json.loads((tmp_path / "short.json").read_text())["operators"]
    assert (add["operator"], add["verdicts"], add["why"]) == ("add", {"identical": 1}, "")
    assert mm == {
        "operator": "mm", "samples": 2, "verdicts": {"identical": 1, "open": 1}, "kernels": 4,
        "identical": 2, "open": 2, "different": 0, "refused": 0,
        "why": "pad: mm of [5, 5] @ [5, 5]",
    }  # fmt: skip
