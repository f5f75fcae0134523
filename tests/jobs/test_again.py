"""Graphs of a trace are compiled again, and each kernel is compared with the job's."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tclab.capturing.trace.events import Event, Trace
from tclab.capturing.trace.records import read_log
from tclab.cli.open import open_command
from tclab.errors import BadRequest
from tclab.jobs import inputs, open_job
from tclab.jobs.again import running, upgraded
from tclab.jobs.again.graphs import RECORDS, TracedGraph, find_graphs
from tclab.jobs.again.verdicts import DIFFERS, SAME, compare_codes
from tclab.model import Job, JobReplay
from tclab.render.job import page, replays
from tclab.upgrade import environments
from tests.jobs.job_files import run

pytest.importorskip("torch")
pytest.importorskip("triton")

#: A training step for a GPU that is not there, and one of two sizes for the CPU. Nothing is built.
JOB = """
    import contextlib
    import torch
    from tclab.capturing.backward import run_backward
    from tclab.capturing.target import capture, inductor
    from tclab.capturing.target.timing.variants import Wrappers

    def score(x, w):
        return (torch.softmax(x @ w, -1) * x.size(0)).square().mean()

    def arguments(rows):
        return torch.ones(rows, 8), torch.ones(8, 8, requires_grad=True)

    capture.capture_for(score, "h200", [(arguments(16), {})], backward=True)
    torch.compiler.reset()
    with inductor.stopping_after_code(Wrappers()), inductor.patching_settings(True):
        with contextlib.suppress(RuntimeError):
            torch.compile(score, dynamic=True)(*arguments(24))
"""
#: An operator → the one that is planted in its place, in a text that is then compiled again.
PLANTED = {"aten.mul.Tensor(": "aten.add.Tensor(", "aten.amax.default(": "aten.amin.default("}


@pytest.fixture(scope="module", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's cache folder, in which results are kept."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the job's trace."""
    return run(tmp_path_factory.mktemp("again"), JOB)


@pytest.fixture(scope="module")
def job(trace: Path) -> Job:
    return open_job([trace], replay=())


@pytest.fixture(scope="module")
def graphs(trace: Path) -> list[TracedGraph]:
    (file,) = inputs.find_inputs(trace)
    return [*find_graphs(read_log(file.text(), also=RECORDS).trace)]


def verdicts(replayed: JobReplay) -> Iterator[str]:
    return (kernel.verdict for kernel in replayed.kernels)


def replay_one(graph: TracedGraph) -> JobReplay:
    (replayed,) = running.replay_graphs([("", graph)])
    return replayed


def test_each_kernel_is_the_one_of_the_job(job: Job) -> None:
    asked = [(each.direction, each.target) for each in job.replays]
    assert asked == [("forward", "h200"), ("backward", "h200"), ("forward", ""), ("backward", "")]
    for each in job.replays:
        assert not each.cause and len(each.kernels) > 1
        assert {*verdicts(each)} == {SAME}, each.kernels


def test_the_same_graphs_are_not_compiled_a_second_time(
    job: Job, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running._Compiler, "ask", lambda *_: {"cause": "compiled a second time"})
    again = open_job([trace], replay=())
    assert [each.kernels for each in again.replays] == [each.kernels for each in job.replays]
    assert [each.kept for each in (*job.replays, *again.replays)] == [False] * 4 + [True] * 4
    assert {row[-1] for row in replays.table(again.replays).rows} == {"kept"}


def test_a_named_graph_has_its_stages_down_to_instructions(trace: Path) -> None:
    """Each stage is linked to the lines of the job, which the trace names; and the kernels of a
    compile that was observed are the job's, too.
    """
    job = open_job([trace], stages=True, replay=("0/0",))
    on_gpu = [each for each in job.replays if each.target]
    assert len(on_gpu) == 2
    for each in on_gpu:
        assert {*verdicts(each)} == {SAME} and not each.lacking
        stages = [pane.stage for pane in each.chain.panes]
        assert {"python", "post_grad", "ir", "kernel", "ttgir", "ptx", "sass"} <= {*stages}
        python, kernel = (
            next(pane for pane in each.chain.panes if pane.stage == stage)
            for stage in ("python", "kernel")
        )
        assert "softmax" in python.code and python.marks and kernel.links
    html = page.html(job)
    assert "0/0 forward, compiled again: stage by stage" in html


def test_unnamed_graphs_have_their_stages_down_to_the_kernels(trace: Path) -> None:
    job = open_job([trace], stages=True, replay=())
    for each in job.replays:
        stages = {pane.stage for pane in each.chain.panes}
        assert {"post_grad", "ir"} < stages and not {"ptx", "sass", "assembly"} & stages
        assert {*verdicts(each)} == {SAME}


def test_the_terminal_asks_for_no_stages(job: Job) -> None:
    assert not any(each.chain.panes for each in job.replays)


@pytest.mark.parametrize("old", sorted(PLANTED))
def test_a_planted_operator_differs(graphs: list[TracedGraph], old: str) -> None:
    forward = graphs[0]
    text = forward.question.runnable
    assert old in text
    changed = replace(forward.question, runnable=text.replace(old, PLANTED[old], 1))
    replayed = replay_one(replace(forward, question=changed))
    found = [kernel for kernel in replayed.kernels if kernel.verdict == DIFFERS and kernel.name]
    assert found and all("compiled again" in kernel.difference for kernel in found)


def test_what_is_called_the_same_is_the_same_text(graphs: list[TracedGraph]) -> None:
    """One changed character of a kernel's code is a difference; its name is not."""
    code = graphs[0].code
    assert {kernel.verdict for kernel in compare_codes(code, code)} == {SAME}
    changed = code.replace("tl.store(", "tl.store( ", 1)
    assert changed != code
    assert [k.verdict for k in compare_codes(code, changed)].count(DIFFERS) == 1
    name = next(kernel.name for kernel in compare_codes(code, code))
    renamed = code.replace(name, name.replace("_fused_", "_fused_other_"))
    assert {kernel.verdict for kernel in compare_codes(code, renamed)} == {SAME}


def test_the_index_of_the_gpu_is_no_difference(graphs: list[TracedGraph]) -> None:
    """A rank compiles for its own GPU, and the graph is compiled again for GPU 0."""
    code = next(graph.code for graph in graphs if graph.question.target)
    of_gpu = r"(index=|_device\(|_DeviceGuard\(|raw_stream\(|stream|cuda:)0\b"
    of_rank = re.sub(of_gpu, r"\g<1>1", code)
    assert of_rank.count("stream1") == code.count("stream0") > 0
    assert {each.verdict for each in compare_codes(of_rank, code)} == {SAME}
    of_two_gpus = of_rank.replace("get_raw_stream(1)", "get_raw_stream(2)", 1)
    assert DIFFERS in {each.verdict for each in compare_codes(of_two_gpus, code)}


def test_each_backward_of_a_split_compile_has_its_own_metadata() -> None:
    """DDP splits a graph: all forwards are compiled before the first backward, the last part's."""

    def record(name: str, payload: str) -> Event[Any]:
        return Event(name, {}, payload, "4/0")

    def graph(inputs: str) -> list[Event[Any]]:
        runnable = f"class Repro:\n    def forward(self, {inputs}):\n"
        return [record("fx_graph_runnable", runnable), record("inductor_output_code", "")]

    events = []
    for donated in (3, 5):
        events.append(record("aot_forward_graph_fw_metadata", f"  bw_donated_idxs=[{donated}],"))
        events += graph("primals_1")
    events += graph("add_1, tangents_1") * 2
    found = [each.question.donated for each in find_graphs(Trace(events))]
    assert found == [(3,), (5,), (5,), (3,)]


def test_the_page_and_the_text_say_it(job: Job) -> None:
    text, html = page.text(job), page.html(job)
    assert "Graphs compiled again from the trace" in text and SAME in text
    assert 'id="replays"' in html
    assert Job.from_json(job.to_json()).replays == job.replays


def test_another_version_is_named(graphs: list[TracedGraph]) -> None:
    """No kernel is called the same without a word that another PyTorch compiled it."""
    replayed = replay_one(replace(graphs[0], torch="2.9.0"))
    assert replayed.kernels
    assert all("instead of 2.9" in each for each in verdicts(replayed))
    assert "instead of 2.9" in str(replays.table([replayed]).rows)


def test_the_same_pytorch_makes_the_same_of_a_job(trace: Path) -> None:
    job = open_job([trace], replay=(), upgrade=sys.executable)
    (table,) = job.upgrade
    assert {row[2:4] for row in table.rows} == {("no", "nothing")}
    assert len(table.rows) == 4 and all(row[4] == row[5] != 0 for row in table.rows)
    assert 'id="upgrade"' in page.html(job) and "graph by graph" in page.text(job)
    assert Job.from_json(job.to_json()).upgrade == job.upgrade


def test_the_pytorch_to_compare_with_is_another_one(trace: Path) -> None:
    own = environments.find_torch_version(sys.executable)
    for words, cause in (
        ((), "names a PyTorch to compile again with"),
        (("--replay",), "that is the PyTorch that compiles the graphs again"),
    ):
        result = CliRunner().invoke(open_command, [str(trace), *words, "--to", own])
        assert result.exit_code == 2 and cause in " ".join(result.output.split())


def upgraded_graph(graph: TracedGraph, after: dict[str, str]) -> upgraded.UpgradedGraph:
    sides = {"code": graph.code, "torch": "2.1.0+cu1"}, {"torch": "2.2.0", **after}
    shots = (upgraded._take_snapshot(graph, sides[0]), upgraded._take_snapshot(graph, sides[1]))
    return upgraded.UpgradedGraph(graph.compile_id, graph.direction, *sides, shots)


def test_what_another_pytorch_writes_is_said_by_cause(graphs: list[TracedGraph]) -> None:
    """A planted difference has a row among the causes, and moves numbers as far as is known."""
    code = graphs[0].code.replace("libdevice.exp(", "libdevice.exp2(", 1)
    assert code != graphs[0].code
    found = upgraded_graph(graphs[0], {"code": code})
    rows, causes = (table.rows for table in upgraded.tabulate([found]))
    ((_, _, moves, what, *_),) = rows
    assert (moves, what) == ("not known", "kernels (not known)")
    assert [row[:3] for row in causes] == [(1, "not known", "not known")]


def test_another_library_call_is_said(graphs: list[TracedGraph]) -> None:
    code = graphs[0].code.replace("extern_kernels.mm(", "extern_kernels.bmm(")
    assert code != graphs[0].code
    rows, changes = (t.rows for t in upgraded.tabulate([upgraded_graph(graphs[0], {"code": code})]))
    assert rows[0][2:4] == ("not known", "library calls")
    assert {row[0] for row in changes} == {"library calls"}


def test_what_another_pytorch_does_not_compile_is_not_compared(graphs: list[TracedGraph]) -> None:
    (table,) = upgraded.tabulate([upgraded_graph(graphs[0], {"cause": "no such setting"})])
    ((_, _, moves, what, *_),) = table.rows
    assert moves is None and what == "not compiled by PyTorch 2.2.0: no such setting"


def test_only_the_graphs_that_are_asked_for(trace: Path) -> None:
    with pytest.raises(BadRequest, match="no graph of Inductor's in the compile 7/7"):
        open_job([trace], replay=("7/7",))


def test_a_hostile_graph_is_refused_by_name(graphs: list[TracedGraph], tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = graphs[0].question.runnable.replace("import os", f"import os\nopen({str(mark)!r}, 'w')")
    question = replace(graphs[0].question, runnable=text)
    replayed = replay_one(replace(graphs[0], question=question))
    assert not replayed.kernels and "no graph of Inductor's has it" in replayed.cause
    assert "fx_graph_runnable, line" in replayed.cause and not mark.exists()


def test_a_graph_that_takes_too_long_is_given_up(
    graphs: list[TracedGraph], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # nothing is kept there yet
    monkeypatch.setattr(running, "_GRAPH_SECONDS", 0.01)
    replayed = replay_one(graphs[0])
    assert "took more than 0 seconds" in replayed.cause
