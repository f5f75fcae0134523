"""What a GPU would choose among: every candidate, compiled."""

from __future__ import annotations

from typing import Any

from tclab.capturing.machine_code import candidates


def test_every_candidate_is_compiled_and_measured(pointwise_h200: Any) -> None:
    (kernel,) = pointwise_h200.compile_kernels()
    table = pointwise_h200.compile_candidates()
    rows = [dict(zip(table.columns, row)) for row in table.rows]
    assert tuple(row["candidate"] for row in rows) == kernel.candidates
    assert len(rows) > 1
    assert {row["rule"] for row in rows} == {"pointwise {'x': 1024}"}
    assert str(rows[0]["registers"]) == kernel.facts["registers per thread"]
    assert rows[0]["occupancy"] == kernel.facts["occupancy"]
    assert all(row["shared memory"] == 0 for row in rows)


def test_a_candidate_that_does_not_compile_says_so(pointwise_h200: Any, monkeypatch: Any) -> None:
    def refuse(autotuner: Any, config: Any) -> Any:
        raise RuntimeError("out of resource: shared memory")

    monkeypatch.setattr(candidates.autotuners, "compile_config", refuse)
    rows = pointwise_h200.compile_candidates().rows
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
    assert candidates.rule(source) == told
    assert candidates.rule("@triton.jit\ndef f(): pass") == ""
