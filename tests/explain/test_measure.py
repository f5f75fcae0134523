"""`tclab explain --measure`: times of the reader's calls, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import tclab
from tclab.errors import BadRequest
from tclab.explain import explain_named, measure
from tclab.explain.measure import join, modes, passes
from tclab.explain.measure.protocol import MemoryRequest, Prepared, ProfileRequest, Round
from tclab.explain.request import ExplainRequest
from tclab.explain.steps import silent
from tclab.model import (
    SAME,
    SLOWER,
    UNSTEADY,
    Chain,
    GraphRun,
    Kernel,
    Measurement,
    ModeTimes,
    PassMemory,
)
from tclab.render.report import kernels, words

SLOW = "slower-than-eager"
FILE = """
import os, torch

def tiny(x):
    print("must not reach the answers")
    return x + 1

def sums(x):
    for _ in range(4):
        x = torch.sigmoid(x * 2) * x
    return x.sum()

def products(x):
    small = (torch.cos(x) @ torch.ones(4, 8)).sum()
    large = torch.ones(700, 800) @ torch.ones(800, 900)
    return small, torch.sin(large)

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
    monkeypatch.setattr(modes, "_TURN_SECONDS", 0.002)
    # which compiles again, and is looked at where kernels are timed
    monkeypatch.setattr(measure, "_profile", lambda *_: None)

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
    eager, compiled = found.eager.memory, found.compiled[0].memory
    # each of four steps saves x, the sigmoid and, as eager saves it, the argument's product
    assert eager.peak > eager.saved >= 8 * 4 * 4 > compiled.saved is not None
    assert eager.kept == compiled.kept == 0
    # of each step the sigmoid and the product, without the first x
    (line, size), *_ = eager.lines
    assert line.line == FILE.splitlines().index("        x = torch.sigmoid(x * 2) * x") + 1
    assert 7 * 4 * 4 <= size <= eager.peak and not compiled.lines
    assert line.file.endswith("file.py")
    assert f"most of it in eager: {size} bytes of {line}" in words.memory(found)
    assert not found.timed_out


def test_measuring_ends_when_its_seconds_are_over(measured) -> None:
    began = time.monotonic()
    found = measured("tiny", measure_seconds=0.2)
    assert time.monotonic() - began < 5
    assert found.problem == "eager: the process ended, or it was not ready after 0 s"


class Answers:
    """Stands in for a process: a round takes 0.1 s."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def ask(self, question: object, seconds: float) -> object:
        self.asked.append(question)
        if isinstance(question, int):
            time.sleep(0.1)
            return Round(0.1, 0.5)
        return PassMemory(8) if isinstance(question, MemoryRequest) else None


@pytest.mark.parametrize(("seconds", "rounds", "late"), [(0.5, 2, True), (60.0, 11, False)])
def test_what_does_not_fit_into_the_seconds_is_left_out(seconds, rounds, *, late) -> None:
    end, answers = time.monotonic() + seconds, Answers()
    prepared = Prepared(1.0, 0.1, "H100", 2)
    timed = [modes.MeasuredMode(name, answers, prepared, end) for name in ("eager", "default")]
    found = modes.measure_modes(timed, silent, modes.MeasuredMode.profile)
    assert found.timed_out == late
    assert len(found.eager.rounds) == len(found.compiled[0].rounds)
    assert (len(found.eager.rounds) <= rounds) if late else (len(found.eager.rounds) == rounds)
    assert (found.eager.memory is None) == late
    assert any(isinstance(each, ProfileRequest) for each in answers.asked) != late
    assert ("The time was up" in words.measurement(found)) == late
    assert found.verdict(found.compiled[0]) == (UNSTEADY if late else SAME)


@pytest.mark.skipif(sys.platform != "linux", reason="the waits are read from /proc")
def test_a_round_says_how_long_it_waited_for_a_core() -> None:
    core = {min(os.sched_getaffinity(0))}
    before = os.sched_getaffinity(0)
    words = f"import os; os.sched_setaffinity(0, {core})\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", words]) as busy:
        try:
            os.sched_setaffinity(0, core)
            time.sleep(0.2)
            end = time.perf_counter() + 0.5
            timed = passes.time_round(lambda: [None for _ in range(1000)], 1)
            assert timed.waited <= timed.seconds
            total = passes.time_round(lambda: _spin(end), 1)
        finally:
            os.sched_setaffinity(0, before)
            busy.kill()
    assert 0.1 * total.seconds < total.waited < total.seconds


def _spin(end: float) -> None:
    while time.perf_counter() < end:
        pass


def test_a_function_is_measured_where_it_is(monkeypatch) -> None:
    monkeypatch.setattr(modes, "_TURN_SECONDS", 0.002)

    def double(x: torch.Tensor, *, by: int) -> torch.Tensor:
        return x * by

    x = torch.ones(8)
    found = tclab.measure(double, dynamic=False)(x, by=2)
    assert [mode.mode for mode in found.modes] == ["eager", "default"]
    assert len(found.compiled[0].rounds) == 11 and found.compiled[0].median > 0
    assert found.compiled[0].memory.peak == 32
    own = tclab.measure(torch.compile(double, backend="eager", dynamic=False))(x, by=3)
    assert own.eager and len(own.compiled) == 1


def test_the_memory_of_cuda_graphs_is_that_of_their_pools(monkeypatch) -> None:
    segments = [
        {"total_size": 1 << 20, "segment_pool_id": (0, 0)},
        {"total_size": 2 << 20, "segment_pool_id": (0, 1)},
        {"total_size": 4 << 20},
    ]
    monkeypatch.setattr(torch.cuda, "memory_snapshot", lambda: segments)
    assert passes._count_graph_memory() == 2 << 20
    mode = ModeTimes("default", (1.0,), memory=PassMemory(1 << 20, 512, 2 << 20))
    said = words.memory(Measurement("H100", 2, (mode,)))
    assert said == (
        "Memory of a call at its most: default 1 MiB; kept for the backward: default 512 bytes; "
        "CUDA graphs keep 2 MiB more (default)."
    )


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


def test_each_kernel_and_library_call_has_its_time_at_its_line(tmp_path, monkeypatch) -> None:
    (tmp_path / "file.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    request = ExplainRequest.parse("file.py:products", compare=False, measure=True)
    report = explain_named(request)
    rows = report.kernels
    seconds = {(row.name, *(line.line for line in row.lines)): row.seconds for row in rows}
    assert len(seconds) >= 4 and None not in seconds.values(), seconds
    small, large = (seconds["extern_kernels.mm", FILE.splitlines().index(text) + 1] for text in (
        "    small = (torch.cos(x) @ torch.ones(4, 8)).sum()",
        "    large = torch.ones(700, 800) @ torch.ones(800, 900)",
    ))  # fmt: skip
    assert large > 5 * small
    assert report.measurement.profile.busy is None  # no GPU
    columns = kernels.compact_table(rows).columns
    assert "share" in columns and "of the roof" not in columns


def test_a_snapshot_does_not_depend_on_times(tmp_path, monkeypatch) -> None:
    (tmp_path / "file.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    timed = ModeTimes("eager", (1e-6,) * 11), ModeTimes("default", (1e-5,) * 11)
    monkeypatch.setattr(measure, "measure", lambda *_: Measurement("CPU", 2, timed))
    request = ExplainRequest.parse("file.py:tiny", compare=False, measure=True)
    report = explain_named(request)
    assert SLOW in {each.name for each in report.findings}
    assert SLOW not in {each.name for each in report.snapshot.findings}


def graph(*kernels: str) -> Chain:
    panes = [
        Kernel(
            name=str(number), kernel_name=name, stage="wrapper" if "." in name else "kernel",
            category="extern" if "." in name else "",
        )
        for number, name in enumerate(kernels)
    ]  # fmt: skip
    return Chain("", "chain", panes=tuple(panes))


def test_graphs_with_the_same_kernels_take_turns() -> None:
    mm = "extern_kernels.mm"
    chains = [graph("triton_a", mm, mm), graph("triton_a", mm, mm), graph("triton_a"), graph(mm)]
    runs = [
        GraphRun((("aten::mm", 1.0), ("triton_a", 2.0), ("aten::mm", 3.0), ("aten::empty", 9.0))),
        GraphRun((("aten::mm", 4.0), ("triton_a", 5.0), ("aten::mm", 6.0))),
        GraphRun((("triton_a", 7.0),)),
        GraphRun((("aten::mm", 8.0),)),
        GraphRun((("triton_b", 10.0),)),  # of no graph of the report
    ]
    assert join.seconds_per_launch(chains, runs) == {
        (0, "wrapper", 1): 1.0, (0, "kernel", 1): 2.0, (0, "wrapper", 2): 3.0,
        (1, "wrapper", 1): 4.0, (1, "kernel", 1): 5.0, (1, "wrapper", 2): 6.0,
        (2, "kernel", 1): 7.0, (3, "wrapper", 1): 8.0,
    }  # fmt: skip


def test_operators_have_the_profilers_names() -> None:
    calls = {
        "extern_kernels.bias_addmm": "aten::addmm",
        "torch.ops.mkldnn._linear_pointwise.default": "mkldnn::_linear_pointwise",
        "torch.ops.aten.sort.stable": "aten::sort",
    }
    for call, name in calls.items():
        assert join.seconds_per_launch([graph(call)], [GraphRun(((name, 1.0),))])
