"""``tclab diff``: two reports beside each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tclab.cli.command import main
from tclab.explain import Report
from tclab.model import (
    BreakIdentity,
    Breaks,
    Chain,
    Kernel,
    KernelIdentity,
    Problem,
    Provenance,
    Recompiles,
    Snapshot,
    Symbols,
)

MADE = Provenance("2.13.0", "", "3.11.7", "a CPU", "Linux", "2026-11-21")


def report(target: str, *codes: str, **more: object) -> Report:
    """Return a report with a graph for each kernel's code."""
    chains = tuple(
        Chain(f"Graph {n}", "c", (Kernel("k", "k", code, "python", "kernel"),))
        for n, code in enumerate(codes)
    )
    made = Report(
        title="model.py:f", calls=(), target=target, backward=False, remarks=(),
        sources=(), breaks=Breaks(), recompiles=Recompiles(), symbols=Symbols(),
        guards=(), chains=chains, provenance=MADE, snapshot=snapshot(target, codes),
    )  # fmt: skip
    return replace(made, **more)


def snapshot(target: str, codes: tuple[str, ...]) -> Snapshot:
    """What is compared of a report."""
    kernels = (
        KernelIdentity((), "pointwise", "forward", "cpp", text=code, body=code) for code in codes
    )
    return Snapshot("model.py:f", target, torch=MADE.torch, kernels=tuple(kernels))


@pytest.fixture
def files(tmp_path: Path):
    def write(*reports: Report) -> list[str]:
        paths = []
        for number, each in enumerate(reports):
            path = tmp_path / f"{number}.json"
            path.write_text(each.to_json(), encoding="utf-8")
            paths.append(str(path))
        return paths

    return write


def test_two_targets(files, capsys) -> None:
    assert (
        main(["diff", *files(report("NVIDIA H200", "x = 1\n"), report("Tesla T4", "x = 2\n"))]) == 4
    )
    text = capsys.readouterr().out
    assert "--- Triton kernel, model.py:f, NVIDIA H200, PyTorch 2.13.0\n" in text
    assert "+++ Triton kernel, model.py:f, Tesla T4, PyTorch 2.13.0\n" in text
    assert "-x = 1\n+x = 2\n" in text


def test_two_versions_of_pytorch(files, capsys) -> None:
    later = report("", "x = 2\n", provenance=replace(MADE, torch="2.15.0"))
    assert main(["diff", *files(report("", "x = 1\n"), later)]) == 4
    text = capsys.readouterr().out
    assert "this machine, PyTorch 2.13.0" in text and "this machine, PyTorch 2.15.0" in text


def test_before_and_after_an_edit_are_told_apart_by_their_files(files, capsys) -> None:
    before, after = files(report("", "x = 1\n"), report("", "x = 2\n"))
    assert main(["diff", before, after]) == 4
    assert f"--- Triton kernel, {before}\n+++ Triton kernel, {after}\n" in capsys.readouterr().out


def test_a_graph_that_only_one_has_is_all_new(files, capsys) -> None:
    assert main(["diff", *files(report("", "x\n"), report("", "x\n", "y\n"))]) == 4
    _, same, new = capsys.readouterr().out.split("\n\n")
    assert "The same in both: Triton kernel." in same and "+y" in new


def test_one_html_file_that_stands_alone(files, tmp_path: Path) -> None:
    out = tmp_path / "diff.html"
    assert main(["diff", *files(report("", "x = 1\n"), report("", "x = 2\n")), "-o", str(out)]) == 4
    html = out.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>") and "<del>x = <b>1</b></del>" in html
    assert "<h1>0.json and 1.json</h1>" in html


def test_the_title_says_once_what_is_the_same(files, tmp_path: Path) -> None:
    out = tmp_path / "diff.html"
    two = report("NVIDIA H200", "x = 1\n"), report("Tesla T4", "x = 2\n")
    assert main(["diff", *files(*two), "-o", str(out)]) == 4
    assert "<h1>model.py:f: NVIDIA H200 and Tesla T4</h1>" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[1]", '{"format": "tclab explain 3"}', '{"format": "something else"}', "\x00"],
)
def test_what_is_no_report_is_named(files, tmp_path: Path, capsys, content: str) -> None:
    (good,) = files(report("", "x\n"))
    bad = tmp_path / "bad.json"
    bad.write_text(content, encoding="utf-8")
    assert main(["diff", good, str(bad)]) == 2
    said = capsys.readouterr().err
    assert "bad.json" in said.replace("\n", "") and "--format json" in said


def test_open_needs_a_file(files, capsys) -> None:
    assert main(["diff", *files(report("", "x\n"), report("", "x\n")), "--open"]) == 2
    assert "--output" in capsys.readouterr().err


def test_a_file_that_is_not_there(files) -> None:
    (good,) = files(report("", "x\n"))
    assert main(["diff", good, "nowhere.json"]) == 2


def test_a_report_of_another_format_is_named(files, tmp_path: Path, capsys) -> None:
    (saved,) = files(report("", "x = 1\n"))
    text = Path(saved).read_text(encoding="utf-8")
    (tmp_path / "other.json").write_text(text.replace("tclab explain 5", "tclab explain 4"))
    assert main(["diff", saved, str(tmp_path / "other.json")]) == 2
    assert "tclab explain 5" in capsys.readouterr().err.replace("\n", " ")


def test_what_is_the_same_says_so(files, capsys) -> None:
    assert main(["diff", *files(report("", "x = 1\n"), report("", "x = 1\n"))]) == 0
    assert "Nothing differs" in capsys.readouterr().out


def test_a_report_that_lacks_something_is_incomplete(files) -> None:
    lacking = report("", "x = 1\n", left_out=(Problem("kernel k", "long", "ask"),))
    assert main(["diff", *files(lacking, report("", "x = 1\n"))]) == 3


def test_what_differs_comes_first_and_in_words(files, capsys) -> None:
    worse = report("", "x = 1\n")
    more = (BreakIdentity("GB0059", "model.py", "f", "print(x)"),)
    worse = replace(worse, snapshot=replace(worse.snapshot, breaks=more))
    assert main(["diff", *files(report("", "x = 1\n"), worse)]) == 4
    first = capsys.readouterr().out.split("\n\n")[0]
    assert first.startswith("What differs") and "graph breaks" in first and "GB0059" in first


def test_two_reports_of_nothing_are_not_the_same(tmp_path: Path, capsys) -> None:
    path = tmp_path / "nothing.json"
    path.write_text(Report("f", "report", snapshot=Snapshot(torch="2.13.0")).to_json())
    assert main(["diff", str(path), str(path)]) == 3
    assert "nothing was compiled" in capsys.readouterr().err
