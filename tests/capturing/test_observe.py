"""`steps`, `replay`, `memory`, `levels` and pairs of scheduler nodes on this PyTorch."""

from __future__ import annotations

import pytest
import torch

import tclab
from tclab.capturing.torch_private.decomposing import short_dtype
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


def test_levels_of_a_module_and_of_what_was_traced_before():
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.SiLU())
    aten, core, prims = tclab.levels(module, torch.ones(2, 4)).levels
    assert "aten.silu" in aten.operators and "aten.silu" not in core.operators
    assert any(operator.startswith("prims.") for operator in prims.operators)
    (call,) = tclab.levels(twice, torch.ones(2)).levels[0].calls[-1:]
    assert (call.operator, call.location.code) == ("aten.mul.Tensor", "return x.sin() * times")


def test_what_cannot_be_traced_says_so():
    with pytest.raises(CaptureError, match=r"tclab\.levels: .*cannot be traced"):
        tclab.levels(lambda x: x + x.sum().item(), torch.ones(2))


def test_pairs_of_a_graph_without_any():
    (pairs,) = tclab.capture(twice)(torch.ones(4)).fusion_pairs
    assert [node.name for node in pairs.nodes] == ["op0"] and pairs.pairs == ()


def test_sums_in_two_directions_read_once_on_a_gpu():
    """A mix-order reduction; what it asks of its parts is no question of its own."""
    x = torch.ones(8192, 768)
    pairs = tclab.capture(both, target="h200")(x).fusion_pairs[0]
    assert [pair.saved for pair in pairs.select_pairs("fused")] == [x.nbytes]
    assert len({(pair.first, pair.second) for pair in pairs.pairs}) == len(pairs.pairs)


def both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.sum(0), x.sum(1)


@pytest.mark.parametrize(
    ("dtype", "short"),
    [
        *((torch.float32, "f32"), (torch.bfloat16, "bf16"), (torch.bool, "b8")),
        *((torch.float8_e4m3fn, "f8e4m3fn"), (torch.float8_e5m2, "f8e5m2")),
    ],
)
def test_levels_name_types_as_pytorch_prints_them(dtype: torch.dtype, short: str) -> None:
    aten, *_ = tclab.levels(lambda x: x.to(dtype), torch.ones(2, dtype=torch.float64)).levels
    (call,) = aten.calls
    assert call.dtype == short


def test_a_type_without_an_abbreviation_keeps_its_name() -> None:
    assert short_dtype("a_type_of_later") == "a_type_of_later"
