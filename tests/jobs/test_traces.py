"""A trace read from its log is the trace that a capture heard; processes are compared."""

from __future__ import annotations

import json
import re
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tclab.capturing.read.stages import Stages
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.records import read_log
from tclab.cli.command import tclab
from tclab.compare.changes import compare_snapshots
from tclab.jobs import open_job
from tclab.jobs.process import _read_changed_numbers
from tclab.model import Job, Kernel, decode
from tclab.system import inductor_cache
from tests.jobs import job_files

#: What only PyTorch can count of a kernel.
_COUNTED = ("bytes", "operations", "rate")


@dataclass(frozen=True)
class Traced:
    """The same job twice: its trace beside a capture, what the capture read, and the trace of a run
    without a capture.
    """

    beside: Path
    seen: dict[str, Any]
    alone: Path


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    folder = tmp_path_factory.mktemp("captured")
    beside = job_files.run(folder, job_files.CAPTURED, "seen.json", trace="beside")
    seen = json.loads((folder / "seen.json").read_text(encoding="utf-8"))
    no_caches = dict.fromkeys(job_files.CACHES, "0")
    alone = job_files.run(folder, job_files.CAPTURED, trace="alone", **no_caches)
    return Traced(beside, {name: decode(value) for name, value in seen.items()}, alone)


def read_stages(trace: Path) -> Stages:
    (file,) = trace.iterdir()
    with file.open(encoding="utf-8", newline="\n") as lines:
        log = read_log(lines, all_graphs=True)
    assert not log.unread
    return Stages(log.trace)


def without_counts(kernels: tuple[Kernel, ...]) -> list[Kernel]:
    return [replace(k, facts=replace(k.facts, **dict.fromkeys(_COUNTED))) for k in kernels]


def test_a_trace_gives_the_values_of_a_capture(traced: Traced) -> None:
    stages, seen = read_stages(traced.beside), dict(traced.seen)
    del seen["snapshot"]
    assert [len(seen[name]) for name in ("breaks", "recompiles", "joint", "backward")] == [
        1,
        3,
        1,
        1,
    ]
    assert len(seen["symbols"]) > 1
    assert len(seen["kernels"]) > 5
    kernels = seen.pop("kernels")
    for name, value in seen.items():
        assert getattr(stages, name) == value, name
    assert all(kernel.source_lines for kernel in kernels)
    assert without_counts(stages.kernels) == without_counts(kernels)


def test_a_run_without_a_capture_gives_the_same(traced: Traced) -> None:
    stages, seen = read_stages(traced.alone), traced.seen
    for name in ("breaks", "recompiles", "guards", "graphs", "joint", "forward", "backward",
                 "post_grad", "symbols"):  # fmt: skip
        assert getattr(stages, name) == seen[name], name
    assert [(k.kernel_name, k.code, k.direction) for k in stages.kernels] == [
        (k.kernel_name, k.code, k.direction) for k in seen["kernels"]
    ]
    (process,) = open_job([traced.alone], snapshots=True).processes
    assert process.snapshot.kernels and process.snapshot.torch == seen["snapshot"].torch
    assert compare_snapshots(replace(seen["snapshot"], findings=()), process.snapshot).same


def test_runs_are_compared(traced: Traced, tmp_path: Path) -> None:
    same = CliRunner().invoke(tclab, ["diff", str(traced.beside), str(traced.alone)])
    assert (same.exit_code, "Nothing differs" in same.output) == (0, True)
    (file,) = traced.alone.iterdir()
    other = tmp_path / "other"
    other.mkdir()
    text = file.read_text(encoding="utf-8").replace("expected 4, actual 6", "expected 4, actual 7")
    (other / "log").write_text(text, encoding="utf-8")
    page = tmp_path / "diff.html"
    differs = CliRunner().invoke(tclab, ["diff", str(traced.alone), str(other), "-o", str(page)])
    assert differs.exit_code == 4
    assert "expected 4, actual 7" in page.read_text(encoding="utf-8")
    (tmp_path / "none").mkdir()
    wrong = CliRunner().invoke(tclab, ["diff", str(traced.alone), str(tmp_path / "none")])
    assert (wrong.exit_code, "has no trace" in wrong.stderr) == (2, True)


def test_a_job_is_checked_against_an_earlier_one(traced: Traced, tmp_path: Path) -> None:
    def check(trace: Path, *options: str) -> tuple[int, str]:
        words = ["check", str(trace), "--against", str(tmp_path / "base"), *options]
        done = CliRunner().invoke(tclab, words)
        return done.exit_code, done.output

    status, output = check(traced.beside)
    assert (status, "there is no" in output) == (3, True)
    assert check(traced.beside, "--update")[0] == 0
    assert check(traced.alone) == (0, "job: the same\n")
    (file,) = traced.alone.iterdir()
    text = file.read_text(encoding="utf-8").replace("expected 4, actual 6", "expected 4, actual 7")
    (tmp_path / "log").write_text(text, encoding="utf-8")
    status, output = check(tmp_path / "log")
    assert status == 4
    assert "expected 4, actual 7" in output


def test_a_process_that_a_job_no_longer_has_is_not_compared(traced: Traced, tmp_path: Path) -> None:
    (file,) = traced.alone.iterdir()
    both = tmp_path / "both"
    both.mkdir()
    for name in ("dedicated_log_torch_trace_a.log", "dedicated_log_torch_trace_b.log"):
        (both / name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    base = ["--against", str(tmp_path / "base")]
    assert CliRunner().invoke(tclab, ["check", str(both), "--update", *base]).exit_code == 0
    assert CliRunner().invoke(tclab, ["check", str(both), *base]).exit_code == 0
    done = CliRunner().invoke(tclab, ["check", str(traced.alone), *base])
    assert done.exit_code == 3
    assert "job: the same" in done.output
    assert re.search(r"job-2-\w+\.torch\S+: not compared\n +the job has no such", done.output)


def test_a_job_names_its_own_lines(traced: Traced) -> None:
    job = open_job([traced.alone])
    (process,) = job.processes
    assert {each.function for each in process.compiles} >= {"scale", "score"}
    assert all(str(each.location).startswith("job.py:") for each in process.compiles)
    (found,) = [each for each in job.findings if each.name == "graph-break"]
    assert [(p.file, p.code) for p in found.places] == [("job.py", 'print("scaled")')]
    again = [each for each in job.findings if each.name == "recompile"]
    assert any("size mismatch at index 0. expected 4, actual 6" in each.what for each in again)
    assert all(each.cost.seconds > 0 for each in again)
    assert Job.from_json(job.to_json()) == job


def test_a_missed_cache_names_the_setting(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    inductor_cache.copy_cpu_trials(cache)
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


def test_a_graph_from_a_cache_names_no_line_of_the_program_that_compiled_it(tmp_path: Path) -> None:
    """The cache keeps the comments of the first program, whose lines are not those of this one."""
    other = job_files.PRODUCT.replace("def product", "\n    def other").replace(
        "(product", "(other"
    )
    variables = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    for name, program in (("first", job_files.PRODUCT), ("second", other)):
        job_files.run(tmp_path / name, program, **variables)
    first, second = (open_job([tmp_path / name], stages=True) for name in ("first", "second"))
    (compiled,), (loaded,) = (job.processes[0].graphs for job in (first, second))
    states = [each.state for each in second.processes[0].lookups if each.cache == "Inductor"]
    assert states == ["hit"] and [line.function for line in compiled.lines] == ["product"]
    assert {line.function for line in loaded.lines} <= {"other"}
    for job, title in ((first, False), (second, True)):
        (graph,) = [p for each in job.stages for p in each.chain.panes if p.stage == "post_grad"]
        assert ("from a cache" in graph.title) is title
    names = {p.title for each in second.stages for p in each.chain.panes if p.stage == "python"}
    assert {name.partition(" ")[0] for name in names} == {"other"}


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


def test_numbers_that_a_recompile_takes_for_symbols_are_those_that_changed() -> None:
    """The first compile's symbols were asked for, and a guard names a size."""
    trace = Trace()
    symbols = [("0", "L['n']"), ("1", "L['n']"), ("1", "L['self'].scale"), ("1", "L['___stack0']"),
               ("1", "L['x'].size()[0]"), ("2", "L['self'].scale")]  # fmt: skip
    for compiled, source in symbols:
        trace.add(names.CREATED_SYMBOL, {"symbol": "s0", "source": source}, "", (3, int(compiled)))
    assert dict(_read_changed_numbers(trace)) == {"0/1": ("self.scale",)}
