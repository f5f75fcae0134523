"""The comparison from its command line, on a machine without a GPU: one side, planted others."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tclab.system import machine
from tclab.workshop.verify import compare, running
from tclab.workshop.verify.results import load, result_path

NAMES = ("pointwise/relu_chain", "reductions/sum_rows")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the target's side, compiled once."""
    out = tmp_path_factory.mktemp("compared")
    assert compare.main(["--out", str(out), "--side", "target", "--jobs", "2", *NAMES]) == 0
    return out


def planted(done: Path, out: Path, old: str = "", new: str = "") -> list[str]:
    """Return the arguments that compare the target's side with a copy of it, edited in its first
    text.
    """
    for number, name in enumerate(NAMES):
        text = result_path(done, "target", name).read_text(encoding="utf-8")
        for side in ("target", "gpu"):
            path = result_path(out, side, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            edited = number == 0 and side == "gpu"
            path.write_text(text.replace(old, new) if edited else text, encoding="utf-8")
    return ["--out", str(out), *NAMES]


def report(out: Path) -> dict:
    return json.loads((out / "report.json").read_text(encoding="utf-8"))


def test_what_one_side_alone_has_is_missing(done: Path) -> None:
    assert sorted(report(done)["missing"]) == sorted(NAMES)
    assert json.loads(result_path(done, "target", NAMES[0]).read_text())["wrappers"]


def test_equal_texts_are_identical(done: Path, tmp_path: Path, capsys) -> None:
    assert compare.main(planted(done, tmp_path)) == 0
    found = report(tmp_path)
    assert [row["verdict"] for row in found["functions"]] == ["identical", "identical"]
    assert (found["different"], found["identical"]) == (0, found["kernels"])
    told = capsys.readouterr().out
    assert all(name in told for name in NAMES)


def test_one_character_in_a_kernel_makes_it_different(done: Path, tmp_path: Path) -> None:
    arguments = planted(done, tmp_path, "tl.full([1], 0, tl.int32)", "tl.full([1], 1, tl.int32)")
    assert compare.main(arguments) == 1
    found = report(tmp_path)
    assert [row["verdict"] for row in found["functions"]] == ["different", "identical"]
    assert found["different"] == 1


def test_without_a_gpu_it_is_refused_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(machine, "here", lambda: SimpleNamespace(gpu=""))
    monkeypatch.setattr(compare, "run_all", lambda *_: pytest.fail("it compiled"))
    for words in ([], ["--corpus", "models"], ["--side", "gpu"]):
        assert compare.main(["--out", str(tmp_path), *words]) == 1
        assert "no NVIDIA GPU here" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_nowhere_is_named(tmp_path: Path, capsys) -> None:
    assert compare.main(["--out", str(tmp_path), "pointwise/relu_chain", "no/such"]) == 2
    assert "no such function or family: no/such" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_dies_is_a_row_and_the_next_function_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one is killed while it compiles; a second process does the rest."""
    kill = (
        "import os, sys; sys.stderr.write('died here'); sys.stderr.flush(); os.kill(os.getpid(), 9)"
    )
    command = running._command

    def first_dies(batch: running.Batch, run: running.ComparisonOptions) -> list[str]:
        return [sys.executable, "-c", kill] if NAMES[0] in batch.names else command(batch, run)

    monkeypatch.setattr(running, "_command", first_dies)
    run = running.ComparisonOptions("functions", "h200", tmp_path, 2, sides=("target",))
    running.run_all(list(NAMES), run)
    crashed, done = (load(tmp_path, "target", name) for name in NAMES)
    assert (crashed["status"], crashed["reason"]) == ("crashed", "died here")
    assert done["status"] == "done"


def test_an_interrupt_ends_what_runs_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep = [sys.executable, "-c", "import time; time.sleep(100)"]
    monkeypatch.setattr(running, "_command", lambda *_: sleep)
    run = running.ComparisonOptions("functions", "h200", tmp_path, 2, sides=("target",))
    threading.Timer(2, run.interrupted.set).start()
    start = time.monotonic()
    running.run_all(list(NAMES), run)
    assert time.monotonic() - start < 60
    assert not list(tmp_path.rglob("*.json"))
