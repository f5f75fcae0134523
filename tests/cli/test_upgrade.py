"""``tclab upgrade`` with Pythons played by scripts: each hands out one report, or what is wrong."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tclab.cli import upgrade
from tclab.cli.command import main
from tclab.cli.explaining import command
from tclab.compare.config import REQUEST_OPTIONS
from tclab.compare.identity import identify_findings
from tclab.explain import ExplainRequest
from tclab.model import (
    BreakIdentity,
    CompileTime,
    Finding,
    GraphCounts,
    Measurement,
    ModeTimes,
    PassMemory,
    Phase,
    Problem,
    Provenance,
    Report,
    Snapshot,
)
from tests.compare.test_causes import bodies, kernel

MODEL = "model.py:f"
BEFORE = Snapshot(MODEL, "h200", "2.13.0", "3.7.1", kernels=(kernel(bodies("index")[0]),), guards=5)
AFTER = replace(BEFORE, torch="2.15.0", triton="3.9.0")
BREAK = BreakIdentity("GB0059", "model.py", "f", "print(x)")
PROBLEM = {"problem": ["model.py:3 (x = 1)", "it cannot be compiled", "wait"], "ours": False}
Made = Report | dict[str, object]
Play = Callable[[str, Made], str]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """A Python that has this PyTorch and makes this of everything."""
    monkeypatch.chdir(tmp_path)

    def plant(torch: str, made: Made) -> str:
        script, answer = tmp_path / f"python-{torch}", tmp_path / f"{torch}.json"
        answer.write_text(made.to_json() if isinstance(made, Report) else json.dumps(made))
        script.write_text(f"#!{sys.executable}\nimport shutil, sys\n"
                          f"print({torch!r}) if '-c' in sys.argv else "
                          f"shutil.copy({str(answer)!r}, sys.argv[-1])\n")  # fmt: skip
        script.chmod(0o755)
        return str(script)

    return plant


def report(snapshot: Snapshot, **more: object) -> Report:
    made = Provenance(f"{snapshot.torch}+cpu", "", "3.11", "a CPU", "Linux", "2026-11-23")
    return replace(Report(MODEL, snapshot=snapshot, provenance=made), **more)


def upgraded(play: Play, before: Made, after: Made, *words: str) -> int:
    pythons = [f"--python={play(torch, made)}" for torch, made in
               (("2.13.0", before), ("2.15.0", after))]  # fmt: skip
    return main(["upgrade", MODEL, "--from", "2.13.0", "--to", "2.15.0", *pythons, *words])


def test_the_same_twice(play, capsys) -> None:
    assert upgraded(play, report(BEFORE), report(AFTER)) == 0
    assert "Nothing differs." in capsys.readouterr().out


def with_kernel(name: str) -> Report:
    return report(replace(AFTER, kernels=(kernel(bodies(name)[1]),)))


def test_a_known_cause_that_moves_nothing(play, capsys, tmp_path) -> None:
    assert upgraded(play, report(BEFORE), with_kernel("index")) == 4
    said = capsys.readouterr().out
    assert "Nothing that PyTorch writes otherwise can move numbers." in said
    assert "The first stage that differs: kernels." in said
    page = (tmp_path / "upgrade-2.15.0.html").read_text()
    assert page.startswith("<!doctype html>") and "an index, and the same index simplified" in page
    assert "x_0 % 64" in page


def test_another_random_number_comes_first_with_its_issue(play, capsys, tmp_path) -> None:
    old, new = bodies("random_numbers")
    before = report(replace(BEFORE, kernels=(kernel(old),)))
    after = report(replace(AFTER, kernels=(kernel(new),), guards=7))
    assert upgraded(play, before, after) == 4
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("1 kernel: other numbers (triton_helpers.rand4x and tl.rand).")
    assert (
        "https://github.com/pytorch/pytorch/issues/198333"
        in (tmp_path / "upgrade-2.15.0.html").read_text()
    )


FAULT = Finding("known-fault", "a wrong result, pytorch#1: masks repeat", (), actions=("Wait.",))


def finding(snapshot: Snapshot, *found: Finding) -> Report:
    return report(replace(snapshot, findings=identify_findings(found)), findings=found)


def test_a_finding_that_came_or_went_is_said(play, capsys, tmp_path) -> None:
    has_not, has = finding(BEFORE), finding(AFTER, FAULT)
    assert upgraded(play, has_not, has, "--report-only-worse") == 4
    said = capsys.readouterr().out
    assert f"finding, new: known fault of this PyTorch: {FAULT.what}\n    fix: Wait." in said
    assert FAULT.what in (tmp_path / "upgrade-2.15.0.html").read_text()
    assert upgraded(play, finding(BEFORE, FAULT), finding(AFTER)) == 4
    assert "finding, gone: known fault of this PyTorch" in capsys.readouterr().out
    assert upgraded(play, finding(BEFORE, FAULT), has, "--format", "json", "-o", "out.json") == 0
    (name,) = json.loads((tmp_path / "out.json").read_text())["names"]
    assert name["before"]["findings"][0]["what"] == FAULT.what
    assert not [each for each in name["changes"] if each["part"] == "findings"]


def test_what_is_not_known_of_a_newer_pytorch_is_said_and_it_goes_on(play, capsys) -> None:
    newer = report(replace(BEFORE, torch="2.99.0", triton="4.0.0"))
    pythons = [f"--python={play('2.13.0', report(BEFORE))}", f"--python={play('2.99.0', newer)}"]
    assert main(["upgrade", MODEL, "--from", "2.13.0", *pythons]) == 0
    said = capsys.readouterr().out
    assert "PyTorch 2.99.0 is newer than 2.15" in said and "known faults are not listed" in said


def test_the_first_stage_is_the_highest(play, capsys) -> None:
    after = report(replace(AFTER, breaks=(BREAK,), kernels=()))
    assert upgraded(play, report(BEFORE), after) == 4
    assert "The first stage that differs: graph breaks." in capsys.readouterr().out


def test_other_operators_can_move_numbers(play, capsys) -> None:
    graphs = (GraphCounts("dynamo", {"aten.mT": 1}), GraphCounts("forward", {"aten.sub": 2}))
    assert upgraded(play, report(BEFORE), report(replace(AFTER, graphs=graphs[:1]))) == 4
    names = replace(BEFORE, graphs=(GraphCounts("dynamo", {"getattr": 1}),))
    capsys.readouterr()
    assert upgraded(play, report(names), report(replace(AFTER, graphs=graphs[:1]))) == 4
    assert "Nothing that PyTorch writes otherwise can move" in capsys.readouterr().out
    old = replace(BEFORE, graphs=(graphs[0], GraphCounts("forward", {"aten.sub": 1})))
    assert upgraded(play, report(old), report(replace(AFTER, graphs=graphs))) == 4
    assert "Numbers can move: the graphs are not the same." in capsys.readouterr().out


@pytest.mark.parametrize("lost", [False, True])
def test_what_only_one_compiles_is_a_result(play, capsys, lost: bool) -> None:
    sides = (report(BEFORE), PROBLEM) if lost else (PROBLEM, report(AFTER))
    assert upgraded(play, *sides) == 4
    said = capsys.readouterr().out
    assert f"It compiles under PyTorch {'2.13.0' if lost else '2.15.0'} only." in said
    assert "model.py:3 (x = 1): it cannot be compiled" in said and "next: wait" in said


def test_what_a_target_refuses_above_its_kernels_does_not_compile_either(play, capsys) -> None:
    refused = report(BEFORE, refusal=Problem("model.py:2", "unsupported", "wait"))
    assert upgraded(play, refused, report(AFTER)) == 4
    assert "It compiles under PyTorch 2.15.0 only." in capsys.readouterr().out


def test_what_neither_compiles_and_what_is_not_known_is_incomplete(play, capsys) -> None:
    assert upgraded(play, PROBLEM, PROBLEM) == 3
    assert "It compiles under neither." in capsys.readouterr().out
    gap = Problem("a kernel", "has 2,000 lines", "--long-kernels")
    assert upgraded(play, report(BEFORE), report(AFTER, left_out=(gap,))) == 3
    said = capsys.readouterr().out
    assert "Nothing of what was compared differs." in said
    assert "Not compared under PyTorch 2.15.0. a kernel: has 2,000 lines" in said


def test_an_error_that_is_none_of_pytorchs_ends_it(play, capsys) -> None:
    ours = {"problem": ["model.py:1", "No module named 'einops'", "--with einops"], "ours": True}
    assert upgraded(play, report(BEFORE), ours) == 1
    said = capsys.readouterr().err
    assert "model.py:1, under PyTorch 2.15.0: No module named 'einops'" in said
    assert "next: --with einops" in said


def test_json_has_both_snapshots_and_the_causes(play, capsys) -> None:
    assert upgraded(play, report(BEFORE), with_kernel("index"), "--format", "json") == 4
    said = capsys.readouterr()
    data = json.loads(said.out)
    assert data["format"] == "tclab upgrade 1" and data["machine"]["torch"] == "2.13.0+cpu"
    (one,) = data["names"]
    assert (one["name"], one["first"], one["complete"]) == (MODEL, "kernels", True)
    assert one["causes"][0]["cause"] == "an index, and the same index simplified"
    assert one["before"]["snapshot"]["torch"] == "2.13.0"
    assert "an index" in said.err


def test_seconds_are_measured_in_turns_where_rounds_are_asked_for(play, capsys, tmp_path) -> None:
    def took(snapshot: Snapshot, seconds: float) -> Report:
        return report(snapshot, compile_time=CompileTime((Phase("all", 1, seconds),), 1))

    assert (
        upgraded(play, took(BEFORE, 4.0), took(AFTER, 6.0), "--rounds", "2", "--format=json") == 0
    )
    [name] = json.loads(capsys.readouterr().out)["names"]
    of = {"2.13.0": 4.0, "2.15.0": 6.0, "ratio": 1.5}
    assert name["compile_seconds"] == [{"round": r, **of} for r in ("1", "2", "median")]
    assert upgraded(play, took(BEFORE, 4.0), took(AFTER, 6.0)) == 0
    assert "Compile seconds" not in capsys.readouterr().out
    assert upgraded(play, PROBLEM, took(AFTER, 6.0), "--rounds", "3") == 4
    assert "Compile seconds" not in capsys.readouterr().out


def test_measured_calls_are_a_table_and_no_difference(play, capsys) -> None:
    def timed(snapshot: Snapshot, seconds: float) -> Report:
        modes = (
            ModeTimes("eager", (1e-3,) * 11, memory=PassMemory(64 * 1024)),
            ModeTimes("default", (seconds,) * 11, memory=PassMemory(16 * 1024)),
        )
        return report(snapshot, measurement=Measurement("CPU", 2, modes))

    assert upgraded(play, timed(BEFORE, 5e-4), timed(AFTER, 2e-3), "--measure") == 0
    said = capsys.readouterr().out
    assert "Nothing differs." in said and "The calls, measured" in said
    assert "faster" in said and "slower" in said and "0.50" in said
    assert "64.0" in said and "16.0" in said and "not compared" in said


def test_a_list_of_names_and_only_what_got_worse(play, capsys, tmp_path) -> None:
    (tmp_path / "names.txt").write_text("# mine\n\nmodel.py:g  # later\n")
    words = ("--names", "names.txt", "--format", "json")
    assert upgraded(play, report(BEFORE), with_kernel("index"), *words) == 4
    assert [n["name"] for n in json.loads(capsys.readouterr().out)["names"]] == [
        MODEL,
        "model.py:g",
    ]
    assert upgraded(play, report(BEFORE), with_kernel("index"), *words, "--report-only-worse") == 0
    assert json.loads(capsys.readouterr().out)["names"] == []
    worse = report(replace(AFTER, breaks=(BREAK,)))
    assert upgraded(play, report(BEFORE), worse, *words, "--report-only-worse") == 4


@pytest.mark.parametrize(
    ("more", "status"),
    [({"registers": 40}, 0), ({"shared": 2048}, 0), ({"spilled": 8}, 4)],
)
def test_what_a_kernel_takes_more_is_worse_where_it_is_felt(play, more, status) -> None:
    one = replace(BEFORE.kernels[0], registers=32, spilled=0, shared=1024)
    before = report(replace(BEFORE, kernels=(one,)))
    after = report(replace(AFTER, kernels=(replace(one, **more),)))
    assert upgraded(play, before, after) == 4
    assert upgraded(play, before, after, "--report-only-worse") == status


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["--to", "2.15.0"], "upgrade"),
        (["f", "--to", "2.15.0"], "f"),
        ([MODEL, "--from", "2.13.0"], "--to"),
        ([MODEL, "--from", "2.15.0", "--to", "2.15"], "--to 2.15.0"),
        ([MODEL, "--to", "2.10.0"], "--to 2.10.0"),
        ([MODEL, "--to", "no/torch-2.15.0-cp311-cp311-any.whl"], "there is no such file"),
        ([MODEL, "--to", "next"], "nor a wheel of it"),
        ([MODEL, "--to", "2.15.0", "--target", "h2000"], "h2000"),
        ([MODEL, "--to", "2.15.0", "--python", "/no/python"], "--python /no/python"),
    ],
)
def test_wrong_words_end_it_before_anything_is_made(words, place, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["upgrade", *words]) == 2
    said = capsys.readouterr().err
    assert place in said and "next:" in said
    assert not (tmp_path / "cache").exists()


def test_what_a_compile_depends_on_is_an_option_of_explain_and_of_upgrade() -> None:
    commands = (command.explain, upgrade.upgrade)
    explained, offered = ({each.name for each in of.params} for of in commands)
    parsed = set(inspect.signature(ExplainRequest.parse).parameters)
    assert "inputs" in REQUEST_OPTIONS
    assert REQUEST_OPTIONS.keys() <= explained & offered & parsed
