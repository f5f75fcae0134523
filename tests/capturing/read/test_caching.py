"""What PyTorch's caches make of a graph, asked while they are off."""

from __future__ import annotations

import inspect

import torch
from torch._dynamo.utils import counters

from tclab.capturing import capture
from tclab.capturing.read.caching import read_cachings
from tclab.capturing.trace.events import Trace


def doubled(x):
    return x * 2


def under_autocast(x):
    with torch.autocast("cpu", torch.bfloat16):
        return x @ x


def chosen(x):
    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def cachings(fn):
    return capture(fn)(torch.ones(4, 4)).cachings


def test_a_graph_that_both_caches_keep():
    """Nothing is kept: the second time it is a miss, too."""
    kept = counters["aot_autograd"]["autograd_cache_saved"]
    for _ in range(2):
        found = [(each.cache, each.state, each.reason) for each in cachings(doubled)]
        assert found == [("AOTAutograd", "miss", ""), ("Inductor", "miss", "")]
    assert counters["aot_autograd"]["autograd_cache_saved"] == kept


def test_a_bypass_has_its_reason_and_line():
    autograd, inductor = cachings(under_autocast)
    assert (autograd.state, autograd.reason) == (
        "bypass", "torch.amp.autocast_mode._enter_autocast"
    )  # fmt: skip
    assert autograd.line.line == inspect.getsourcelines(under_autocast)[1] + 2
    assert str(autograd).startswith("AOTAutograd's cache does not take torch.amp.autocast_mode")
    assert inductor.state == "miss"


def test_an_operator_of_higher_order_is_kept_by_neither():
    found = cachings(chosen)
    assert {each.state for each in found} == {"bypass"}
    assert {each.cache for each in found} == {"AOTAutograd", "Inductor"}
    assert {each.line.line for each in found} == {inspect.getsourcelines(chosen)[1] + 1}


def test_a_hit_of_a_real_run():
    trace = Trace()
    trace.add("fx_graph_cache_hit", None, '{"key": "f1"}', (0, 0))
    (hit,) = read_cachings(trace, ())
    assert (hit.cache, hit.state, hit.compile_id) == ("Inductor", "hit", "0/0")
