"""`tclab explain --measure`: times of the reader's calls, in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tclab.errors import BadRequest
from tclab.explain import measure
from tclab.explain.request import ExplainRequest
from tclab.explain.steps import silent
from tclab.model import SLOWER, Measurement
from tclab.render.report import words

FILE = """
import os, torch

def tiny(x):
    print("must not reach the answers")
    return x + 1

def sums(x):
    return (x * 2).sum()

def broken(x):
    print(x.shape)
    return x

def ends(x):
    os._exit(3)

def example_inputs():
    return (torch.randn(4, requires_grad=True),)
"""


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measure, "_TURN_SECONDS", 0.002)

    def run(name: str, **words: object) -> Measurement:
        return measure.measure(ExplainRequest.parse(f"file.py:{name}", **words), silent)  # type: ignore[arg-type]

    return run


def test_a_call_that_is_all_guards_is_slower_than_eager(measured) -> None:
    found = measured("tiny", options=["dynamic=False"])
    assert [mode.mode for mode in found.modes] == ["eager", "default"]
    assert found.device == "CPU" and found.threads > 0 and not found.problem
    default = found.compiled[0]
    assert len(default.rounds) == len(found.eager.rounds) == 11
    assert default.first > 20 * default.median  # with the compile
    assert found.verdict(default) == SLOWER
    assert "slower than eager" in words.measurement(found)


def test_a_backward_is_measured_with_its_forward(measured) -> None:
    found = measured("sums", backward=True)
    assert found.compiled and found.compiled[0].median > 0


@pytest.mark.parametrize(
    ("name", "cause"),
    [("broken", "Failed to trace builtin operator"), ("ends", "eager: the process ended")],
)
def test_what_cannot_be_measured_says_why(measured, name: str, cause: str) -> None:
    found = measured(name, options=["fullgraph=True"])
    assert found.eager is None or not found.compiled
    assert cause in found.problem
    assert words.measurement(found).startswith("Not measured: ")


def test_a_target_is_not_timed() -> None:
    with pytest.raises(BadRequest, match="no h200 is timed here"):
        ExplainRequest.parse("file.py:tiny", target="h200", measure=True)
