"""What a GPU would choose among: every candidate, compiled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tclab.capturing.machine_code import candidates
from tclab.render.kinds import candidates as rendered


def test_every_candidate_is_compiled_and_measured(pointwise_h200: Any) -> None:
    (kernel,) = pointwise_h200.compile_kernels()
    compiled = pointwise_h200.compile_candidates().candidates
    assert tuple(each.config for each in compiled) == kernel.candidates
    assert len(compiled) > 1
    assert {each.rule for each in compiled} == {"pointwise {'x': 1024}"}
    assert compiled[0].resources == kernel.resources and kernel.resources.occupancy
    assert all(each.resources.shared == 0 for each in compiled)


def test_a_candidate_that_does_not_compile_says_so(pointwise_h200: Any, monkeypatch: Any) -> None:
    def refuse(autotuner: Any, config: Any) -> Any:
        raise RuntimeError("out of resource: shared memory")

    (kernel,) = pointwise_h200.compile_kernels()
    monkeypatch.setattr(candidates.autotuners, "compile_config", refuse)
    every = pointwise_h200.compile_candidates()
    assert every.candidates[0].resources == kernel.resources  # it was compiled before
    failed = replace(every, candidates=every.candidates[1:])
    assert {(each.resources, each.problem) for each in failed} == {
        (None, "out of resource: shared memory")
    }
    rows = rendered.to_table(failed).rows
    assert {row[3:] for row in rows} == {
        (None, None, None, "does not compile: out of resource: shared memory")
    }


def test_the_rule_is_the_heuristic_and_what_it_was_told() -> None:
    source = """@triton_heuristics.persistent_reduction(
    size_hints={'x': 64, 'r0_': 128},
    reduction_hint=ReductionHint.INNER,
    filename=__file__,
)"""
    told = "persistent_reduction {'x': 64, 'r0_': 128} ReductionHint.INNER"
    assert candidates.read_heuristic(source) == told
    assert candidates.read_heuristic("@triton.jit\ndef f(): pass") == ""
