"""`tclab bench` as a command: really measured on this CPU, small."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"


def bench(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1", **variables}
    command = [sys.executable, "-m", "tclab", "bench", "--device", "cpu", "--scale", "tiny"]
    return subprocess.run(
        [*command, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def rows(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    [path] = folder.glob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {(line["case"], line["mode"]): line for line in lines if "case" in line}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """One kernel, compiled by Inductor with empty caches, and ceilings."""
    folder = tmp_path_factory.mktemp("bench")
    ran = bench("--suite", "cpu", "--only", "row_sum", "--only", "launch", "--out", str(folder))
    assert ran.returncode == 0, ran.stderr
    return folder, ran.stdout


def test_rows_say_what_was_measured(measured: tuple[Path, str]) -> None:
    by = rows(measured[0])
    assert {mode for _, mode in by} == {"eager", "default"}
    row = by["kernels/row_sum@32x64", "default"]
    assert row["status"] == "ok"
    assert row["us"] > 0
    assert len(row["rounds"]) >= 7
    assert row["facts"]["graphs"] == 1
    assert row["facts"]["first_s"] > 10 * by["kernels/row_sum@32x64", "eager"]["facts"]["first_s"]
    assert row["facts"]["ir_bytes"] >= row["facts"]["least_bytes"]


def test_it_goes_on_where_it_stopped(measured: tuple[Path, str]) -> None:
    folder, _ = measured
    [path] = folder.glob("*.jsonl")
    before = path.read_text()
    again = bench("--suite", "cpu", "--only", "row_sum", "--out", str(folder))
    assert "every row is there already" in again.stdout
    assert path.read_text() == before


def test_it_stops_before_its_budget_ends(tmp_path: Path) -> None:
    ran = bench("--suite", "cpu", "--out", str(tmp_path), "--budget", "5")
    assert ran.returncode == 0, ran.stderr
    assert "cases are left" in ran.stdout
    assert not rows(tmp_path)


def test_two_files_are_compared(measured: tuple[Path, str]) -> None:
    folder, _ = measured
    [path] = folder.glob("*.jsonl")
    names = ("--suite", "cpu", "--only", "row_sum", "--out", str(folder))
    ran = bench(*names, "--compare", str(path))
    assert "rows agree within their spreads" in ran.stdout


def test_a_missing_library_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "timm.py").write_text("raise ModuleNotFoundError('no timm here', name='timm')\n")
    path = os.pathsep.join([str(tmp_path), str(SRC)])
    out = tmp_path / "out"
    only = ("--suite", "models", "--only", "inference/timm/resnet18@2")
    ran = bench(*only, "--out", str(out), PYTHONPATH=path)
    assert ran.returncode == 0, ran.stderr
    assert {row["status"] for row in rows(out).values()} == {"skipped"}
    assert "timm" in next(iter(rows(out).values()))["reason"]


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("--suite", "speed"), 2, "is no suite"),
        (("--only", "nothing-like-it"), 2, "no case has that"),
        (("--device", "cuda"), 1, "no NVIDIA GPU"),
        (("--nonsense",), 2, "unrecognized"),
    ],
)
def test_bad_input_is_named(arguments: tuple[str, ...], status: int, says: str) -> None:
    ran = bench(*arguments, CUDA_VISIBLE_DEVICES="")
    assert ran.returncode == status
    assert says in ran.stderr


def test_a_cluster_measures_the_same_rows(measured: tuple[Path, str], tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    asked = ("--suite", "cpu", "--only", "row_sum", "--only", "launch", "--out", str(tmp_path))
    ran = bench(*asked, "--on", "local:1", "--wave", "1", TCLAB_STORE=str(tmp_path / "store"))
    assert ran.returncode == 0, ran.stderr
    here, there = rows(measured[0]), rows(tmp_path)
    assert there.keys() == here.keys()
    assert all(row["status"] == "ok" for row in there.values())
    assert {row["mode"]: row["facts"].get("graphs") for row in there.values()} == {
        "eager": None,
        "default": 1,
    }
    again = bench(*asked, "--on", "local:1")
    assert "every row is there already" in again.stdout


def test_a_cluster_without_a_gpu_says_so(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    asked = ("--device", "cuda", "--suite", "kernels", "--only", "row_sum", "--out", str(tmp_path))
    ran = bench(*asked, "--on", "local:1", "--wave", "2")
    assert ran.returncode == 1
    assert "tclab bench: kernels/row_sum@" in ran.stderr
    assert "ran nowhere: local-1: no cuda" in ran.stderr
    assert not list(tmp_path.glob("*.jsonl"))
