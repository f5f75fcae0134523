"""A job that timed candidates on its GPU is compiled again with the candidates that it chose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tclab.capturing.trace.events import Event, Trace
from tclab.capturing.trace.records import read_log
from tclab.jobs import inputs
from tclab.jobs.again import running
from tclab.jobs.again.graphs import RECORDS, TracedGraph, find_graphs
from tclab.jobs.again.verdicts import SAME
from tests.jobs.job_files import run

pytest.importorskip("torch")
pytest.importorskip("triton")

#: Three products with max-autotune, for a GPU that is not there. What its timing would answer is
#: made up: templates for the first two, with what follows fused into the first one alone, and the
#: library for the third, which has the sizes of the first.
JOB = """
    from unittest import mock
    import torch
    from tclab.capturing.target import capture, choices
    from torch._inductor.scheduler import Scheduler
    from torch._inductor.select_algorithm import ExternKernelCaller, add_preprocessing_fn

    def layers(x, w, v, u):
        return torch.relu(x @ w), torch.sigmoid(x @ v), x @ u + 1

    answers = iter([False, False, True])

    def choose(candidates):
        if len(candidates) < 2:
            return candidates
        library = next(answers)
        kind = [each for each in candidates if isinstance(each, ExternKernelCaller) is library]
        return kind[:1] if library else kind[4:5]

    can_fuse = Scheduler.can_fuse

    def fuse(self, one, two, *more, **named):
        is_wide = one.is_template() and one.get_template_node().get_size()[1] == 1024
        return not is_wide and can_fuse(self, one, two, *more, **named)

    add_preprocessing_fn(choose)
    torch.set_float32_matmul_precision("high")
    shapes = (512, 512), (512, 512), (512, 1024), (512, 512)
    arguments = tuple(torch.ones(shape) for shape in shapes)
    with (
        mock.patch.object(choices, "check_settings"),
        mock.patch.object(Scheduler, "can_fuse", fuse),
    ):
        options = {"options": {"max_autotune": True}}
        capture.capture_for(layers, "h200", [(arguments, {})], options=options)
"""


@pytest.fixture(scope="module", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> TracedGraph:
    (file,) = inputs.find_inputs(run(tmp_path_factory.mktemp("autotuned"), JOB))
    (found,) = find_graphs(read_log(file.text(), also=RECORDS).trace)
    return found


def test_the_chosen_candidates_are_compiled_again(graph: TracedGraph) -> None:
    """Products of one size have each their own choice, and their own rounding is the job's."""
    assert graph.code.count("@triton_heuristics.template(") == 2
    assert "extern_kernels.mm(" in graph.code and "ALLOW_TF32 : tl.constexpr = True" in graph.code
    (replayed,) = running.replay_graphs([("", graph)])
    assert not replayed.cause, replayed.cause
    assert len(replayed.kernels) == 5
    assert {each.verdict for each in replayed.kernels} == {SAME}, replayed.kernels


@pytest.mark.parametrize(
    ("settings", "rounded"),
    [
        ("('tf32', True, True)", True),
        ("('ieee', True, True)", False),
        ("(True, True, True)", True),
        ("(False, True, True)", False),
    ],
)
def test_the_rounding_of_products_is_that_of_the_caches_key(settings: str, rounded: bool) -> None:
    """As a job on an H200 printed it, and as PyTorch printed it before 2.9."""
    part = f"[advjbafu6vqrt75pa2wjacraohoqku4tdriteskwaj6n4nbpmua] cuda_matmul_settings: {settings}"
    names = "fx_graph_runnable", "fx_graph_cache_miss", "inductor_output_code"
    payloads = "", json.dumps({"components": [part]}), "x = 1"
    (found,) = find_graphs(Trace([Event(n, {}, text, "0/0") for n, text in zip(names, payloads)]))
    assert found.question.tf32 == rounded


def test_what_no_candidate_is_like_is_refused(graph: TracedGraph) -> None:
    """No other candidate is taken for it."""
    code = graph.code.replace("BLOCK_M : tl.constexpr = ", "BLOCK_M : tl.constexpr = 7")
    code = code.replace("extern_kernels.mm(", "extern_kernels.other(")
    assert code != graph.code
    question = replace(graph.question, chosen=code)
    (replayed,) = running.replay_graphs([("", replace(graph, question=question))])
    assert "none of those" in replayed.cause


def test_without_the_jobs_code_it_is_refused_by_name(graph: TracedGraph) -> None:
    question = replace(graph.question, chosen="")
    (replayed,) = running.replay_graphs([("", replace(graph, question=question))])
    assert "max_autotune" in replayed.cause
