"""A function of the catalogue, captured in two processes: other seed, other folder, other order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tclab.compare import compare_snapshots
from tclab.site.versions import records

NAMES = ("reductions/softmax_small", "pointwise/gelu_bias")


def captured(folder: Path, seed: int, names: tuple[str, ...]) -> dict[str, records.Compile]:
    folder.mkdir()
    source = str(Path(__file__).resolve().parents[2] / "src")
    variables = {**os.environ, "PYTHONPATH": source, "PYTHONHASHSEED": str(seed),
                 "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), "CUDA_VISIBLE_DEVICES": "",
                 "OMP_NUM_THREADS": "1"}  # fmt: skip
    command = [sys.executable, "-m", "tclab.workshop.versions.compiles", "out", "functions", "h200"]
    subprocess.run([*command, *names], cwd=folder, env=variables, check=True, timeout=600)
    return {each.name: each for each in records.read_compiles(folder / "out")}


def test_two_processes_give_equal_snapshots(tmp_path: Path) -> None:
    one = captured(tmp_path / "one", 0, NAMES)
    two = captured(tmp_path / "two", 4711, NAMES[::-1])
    assert one.keys() == two.keys() == {*NAMES}
    for name in NAMES:
        old, new = one[name].snapshot, two[name].snapshot
        assert old and new and old.kernels, one[name].failure
        assert compare_snapshots(old, new).same, compare_snapshots(old, new).changes


def test_what_is_there_is_not_compiled_again_and_a_failure_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out" / "functions" / "h200" / "reductions-softmax_small.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"name": "reductions/softmax_small", "failure": "RuntimeError: no"}')
    source = str(Path(__file__).resolve().parents[2] / "src")
    command = [
        sys.executable,
        "-m",
        "tclab.workshop.versions.compiles",
        "out",
        "functions",
        "h200",
        NAMES[0],
    ]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=600,
                   env={**os.environ, "PYTHONPATH": source})  # fmt: skip
    (kept,) = records.read_compiles(tmp_path / "out")
    assert kept.failure == "RuntimeError: no"
