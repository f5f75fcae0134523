"""``tclab verify-target``: what it says and how it ends. The comparison itself needs a GPU."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tclab.cli import command
from tclab.system import machine
from tclab.workshop.verify import compare
from tclab.workshop.verify.results import SIDES
from tclab.workshop.verify.running import ComparisonOptions

FUNCTIONS = [
    {"name": "reductions/softmax", "kernels": 2, "identical": 2, "either": 0,
     "different": 0, "refused": 0, "verdict": "identical", "reason": ""},
    {"name": "products/masked", "kernels": 1, "identical": 0, "either": 0,
     "different": 0, "refused": 1, "verdict": "refused",
     "reason": "\nattention: [not] measured\n  next: write it out"},
]  # fmt: skip
DIFFERENT = {"name": "pointwise/chain", "kernels": 1, "identical": 0, "either": 0,
             "different": 1, "refused": 0, "verdict": "different",
             "reason": "--- gpu\n+++ target\n@@ -1 +1 @@\n-a = 1\n+a = 2"}  # fmt: skip


def report(*functions: dict[str, Any]) -> dict[str, Any]:
    total = {k: sum(f[k] for f in functions) for k in DIFFERENT if k in
             ("kernels", "identical", "either", "different", "refused")}  # fmt: skip
    made = {"torch": "2.11.0", "triton": "3.6.0", "gpu": "NVIDIA H200"}
    return total | {"environment": made, "functions": list(functions), "seconds": 35.0}


@pytest.fixture
def h200(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that says it has an H200."""
    monkeypatch.setattr(machine, "here", lambda: SimpleNamespace(gpu="NVIDIA H200"))


def compared(
    monkeypatch: pytest.MonkeyPatch, made: dict[str, Any]
) -> list[tuple[Any, ComparisonOptions]]:
    """Let the comparison give this report; what it was called with."""
    calls = []

    def compare_all(names: Sequence[str], run: ComparisonOptions) -> dict[str, Any]:
        calls.append((names, run))
        return made

    monkeypatch.setattr(compare, "compare_all", compare_all)
    return calls


def test_without_a_gpu_it_says_so(monkeypatch, capsys) -> None:
    monkeypatch.setattr(machine, "here", lambda: SimpleNamespace(gpu=""))
    assert command.main(["verify-target"]) == 1
    assert "no NVIDIA GPU here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [(["--target", "h2000"], 2, "did you mean h200"), (["--target", "a100"], 1, "A100"),
     (["--jobs", "0"], 2, "jobs")],
)  # fmt: skip
def test_what_cannot_be_compared(h200, capsys, words, status, said) -> None:
    assert command.main(["verify-target", *words]) == status
    assert said in capsys.readouterr().err


def test_a_gpu_without_a_target_is_named(monkeypatch, capsys) -> None:
    monkeypatch.setattr(machine, "here", lambda: SimpleNamespace(gpu="NVIDIA Z1"))
    assert command.main(["verify-target"]) == 1
    assert "NVIDIA Z1" in capsys.readouterr().err


def test_refusals_are_no_difference(h200, monkeypatch, capsys) -> None:
    calls = compared(monkeypatch, report(*FUNCTIONS))
    assert command.main(["verify-target", "-j", "4", "reductions", "products"]) == 0
    out = capsys.readouterr().out
    assert "2 identical (66.7%), 0 different, 1 refused" in out
    assert "attention: [not] measured" in out
    [(names, run)] = calls
    assert (names, run.target, run.jobs) == (("reductions", "products"), "h200", 4)
    assert (run.corpus, run.sides) == ("functions", SIDES)


def test_a_difference_ends_with_1_and_can_be_shown(h200, monkeypatch, capsys) -> None:
    compared(monkeypatch, report(*FUNCTIONS, DIFFERENT))
    assert command.main(["verify-target"]) == 1
    short = capsys.readouterr().out
    assert "-a = 1" in short
    assert "+a = 2" not in short
    assert command.main(["verify-target", "--diff"]) == 1
    assert "+a = 2" in capsys.readouterr().out


def test_of_a_traceback_the_error_is_shown(h200, monkeypatch, capsys) -> None:
    reason = "  raise X(\na.CompilerFailed: raised:\nRuntimeError: no such pattern\n\nSet A=1"
    failed = FUNCTIONS[1] | {"kernels": 0, "refused": 0, "verdict": "gpu failed", "reason": reason}
    compared(monkeypatch, report(failed))
    assert command.main(["verify-target"]) == 0
    assert "RuntimeError: no such pattern" in capsys.readouterr().out


def test_json_is_the_report(h200, monkeypatch, capsys) -> None:
    compared(monkeypatch, report(*FUNCTIONS))
    assert command.main(["verify-target", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == report(*FUNCTIONS)


def test_an_unknown_function_is_refused(h200, capsys) -> None:
    assert command.main(["verify-target", "no/such"]) == 2
    assert "no/such" in capsys.readouterr().err


@pytest.mark.parametrize("package", ["torch", "triton"])
def test_a_comparison_that_fails_says_why(h200, monkeypatch, capsys, tmp_path, package) -> None:
    """An older report is none."""
    (tmp_path / "report.json").write_text(json.dumps(report(*FUNCTIONS)))
    monkeypatch.setitem(sys.modules, package, None)
    assert command.main(["verify-target", "--out", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert package in printed.err
    assert "install PyTorch" in printed.err
    assert "identical" not in printed.out
