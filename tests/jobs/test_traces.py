"""A trace read from its log is the trace that a capture heard; processes are compared."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tclab.capturing.read.breaks import read_breaks
from tclab.capturing.read.graphs import read_graphs
from tclab.capturing.read.guards import read_guards
from tclab.capturing.read.recompiles import read_recompiles, read_symbols
from tclab.capturing.read.units import read_units
from tclab.capturing.trace.records import read_log
from tclab.jobs import open_job
from tclab.model import Job, decode
from tests.jobs import job_files


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """A trace, and what a capture read of the same compile."""
    folder = tmp_path_factory.mktemp("captured")
    trace = job_files.run(folder, job_files.CAPTURED, "seen.json")
    seen = json.loads((folder / "seen.json").read_text(encoding="utf-8"))
    return trace, {name: decode(value) for name, value in seen.items()}


def test_a_log_gives_the_values_of_a_capture(captured: tuple[Path, dict[str, object]]) -> None:
    trace, seen = captured
    (log_file,) = trace.iterdir()
    log = read_log(log_file.read_text(encoding="utf-8").splitlines(keepends=True))
    post_grad = read_graphs(log.trace, "post_grad")
    kernels = tuple(kernel for unit in read_units(log.trace, post_grad) for kernel in unit.kernels)
    read = {
        "breaks": read_breaks(log.trace),
        "recompiles": read_recompiles(log.trace),
        "guards": read_guards(log.trace),
        "symbols": read_symbols(log.trace),
        "dynamo": read_graphs(log.trace, "dynamo"),
        "post_grad": post_grad,
    }
    assert not log.unread
    assert len(seen["breaks"]) == 1  # type: ignore[arg-type]
    assert len(seen["recompiles"]) == 2  # type: ignore[arg-type]
    for name, value in read.items():
        assert value == seen[name], name
    assert [(k.kernel_name, k.code) for k in kernels] == [
        (k.kernel_name, k.code)
        for k in seen["kernels"]  # type: ignore[attr-defined]
    ]


def test_a_job_names_its_own_lines(captured: tuple[Path, dict[str, object]]) -> None:
    job = open_job([captured[0]])
    (process,) = job.processes
    assert {each.function for each in process.compiles} == {"scale"}
    assert all(str(each.location).startswith("job.py:") for each in process.compiles)
    (found,) = [each for each in job.findings if each.name == "graph-break"]
    assert [(p.file, p.code) for p in found.places] == [("job.py", 'print("scaled")')]
    again = [each for each in job.findings if each.name == "recompile"]
    assert any("size mismatch at index 0. expected 4, actual 6" in each.what for each in again)
    assert all(each.cost.seconds > 0 for each in again)
    assert Job.from_json(job.to_json()) == job


def test_a_missed_cache_names_the_setting(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    for name, value in (("first", "yes"), ("second", "no")):
        job_files.run(
            tmp_path, job_files.CACHED, value, trace=f"traces/{name}", TORCHINDUCTOR_CACHE_DIR=cache
        )
    job = open_job([tmp_path / "traces" / "first", tmp_path / "traces" / "second"])
    first, second = job.processes
    missed = [each for each in second.lookups if each.cache == "Inductor"]
    assert [each.state for each in missed] == ["miss"]
    assert [str(part) for part in missed[0].changed] == [
        "inductor_config[epilogue_fusion]: True → False"
    ]
    assert missed[0].beside == first.name
    (found,) = {each.what for each in job.findings if "epilogue_fusion" in each.what}
    assert found.startswith(f"{second.name} missed what {first.name} has")


def test_the_rank_that_compiles_more_is_named(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    ranks = [
        job_files.start(tmp_path, job_files.RANKS, RANK=rank, **environment) for rank in ("0", "1")
    ]
    errors = [rank.communicate(timeout=300)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], errors
    job = open_job([tmp_path / "trace"])
    assert [each.rank for each in job.processes] == [0, 1]
    (found,) = [each for each in job.findings if each.name == "ranks-differ"]
    assert found.what.startswith("rank 1 compiles double")
    assert "expected 4, actual 5" in found.what
    assert found.what.endswith("where rank 0 is done")
