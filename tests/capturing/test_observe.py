"""`steps`, `replay` and `memory` on this PyTorch."""

from __future__ import annotations

import pytest
import torch

import tclab
from tclab.errors import CaptureError


def twice(x: torch.Tensor, times: int = 2) -> torch.Tensor:
    return x.sin() * times


class Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x.shape[0]


def test_a_module_and_its_defaults_are_replayed():
    calls = list(tclab.replay(Scaled(), [(torch.ones(3),), (torch.ones(3),)], backend="eager"))
    assert [(c.call, c.made, c.hit) for c in calls] == [("x[3]", "0/0", ""), ("x[3]", "", "0/0")]
    (call,) = tclab.replay(twice, [(torch.ones(3),)], backend="eager")
    assert call.call == "x[3], times=2"


def test_beyond_the_limit_a_call_makes_nothing():
    with torch._dynamo.config.patch(recompile_limit=1):
        sizes = [(torch.ones(2),), (torch.ones(2, 2),)]
        last = list(tclab.replay(twice, sizes, backend="eager"))[-1]
    assert (last.made, last.hit, len(last.attempts)) == ("", "", 1)


def test_what_has_no_python_code_is_refused():
    with pytest.raises(CaptureError, match="no Python code"):
        tclab.replay(torch.sin, [(torch.ones(2),)])


def test_watching_leaves_the_log_as_it_was():
    import torch._dynamo.symbolic_convert as convert

    log = convert.trace_bytecode_log
    before = (log.level, log.propagate, list(log.handlers))
    assert len(tclab.steps(twice, torch.ones(2)).steps) > 3
    assert (log.level, log.propagate, list(log.handlers)) == before


def test_memory_counts_what_is_held():
    kept = []
    phases = {"take": lambda: kept.append(torch.empty(1024)), "give": kept.clear}
    run = tclab.memory({"one": phases})["one"]
    assert (run.after("take"), run.after("give"), run.peak) == (4096, 0, 4096)


def test_a_forward_without_a_backward_has_no_partition():
    assert tclab.capture(twice)(torch.ones(4)).partitions == ()
