"""Instructions, failed guards, cuts, memory, pairs and levels, as five PyTorch said them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tclab.capturing.chain import facts
from tclab.capturing.read import fusion, levels, memory, partition, replay, steps
from tclab.capturing.torch_private import compiler
from tclab.capturing.torch_private.decomposing import short_dtype
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.capturing.trace.notes import (
    CallNote,
    CutNote,
    CutValue,
    FusedNote,
    FusionQueryNote,
    LoopBodiesNote,
    StepNote,
)
from tclab.model import FusedGroup, FusionPairs, Graph, Node, NotFused, SourceLine
from tests.samples.replay import VERSIONS, text

each_version = pytest.mark.parametrize("version", VERSIONS)


def said(version: str, what: str) -> list[Any]:
    said_: dict[str, list[Any]] = json.loads(text(version, "decisions.json"))
    return said_[what]


def stepped(version: str) -> Trace:
    trace = Trace()
    for note in said(version, "steps"):
        trace.add(names.STEP, StepNote(**{**note, "nodes": tuple(note["nodes"])}), "", (0, 0))
    return trace


@each_version
def test_instructions_their_stack_and_what_they_made(version):
    lazy = "LazyVariableTracker(unrealized: <class 'torch.Tensor'>)"
    walk = [(s.name, s.argument, s.stack, s.nodes) for s in steps.read_steps(stepped(version))]
    assert walk == [
        ("LOAD_FAST", "x", (), ()),
        ("LOAD_FAST", "index", (lazy,), ()),
        ("BINARY_SUBSCR", "", (lazy, lazy), ("l_x_", "l_index_", "getitem")),
        ("LOAD_CONST", "1", ("TensorVariable()",), ()),
        ("BINARY_OP", "+", ("TensorVariable()", "ConstantVariable(int: 1)"), ("add",)),
        ("RETURN_VALUE", "", ("TensorVariable()",), ()),
    ]
    places = [(s.location.line, s.location.function) for s in steps.read_steps(stepped(version))]
    assert set(places) == {(25, "rows")}


def test_a_stack_is_split_at_its_own_commas():
    assert list(steps.split_stack("A(x, [1, 2]), B({'a': (3, 4)}), C()")) == [
        *("A(x, [1, 2])", "B({'a': (3, 4)})", "C()")
    ]
    assert list(steps.split_stack("")) == []


@each_version
def test_a_failed_guard_without_its_place(version):
    assert [replay.strip_location(guard) for guard in said(version, "guards")] == [
        "2 <= L['x'].size()[0]",
        "tensor 'L['x']' size mismatch at index 0. expected 8, actual 1",
    ]


def node(name: str, op: str = "call_function") -> Node:
    return Node(name, op, f"aten.{name}.default")


@each_version
def test_what_was_saved_recomputed_and_banned(version):
    trace = Trace()
    for note in said(version, "cut"):
        values = tuple(CutValue(**value) for value in note["values"])
        trace.add(names.CUT, CutNote(values), "", (0, 0))
    inputs = (node("primals_1", "placeholder"), node("primals_2", "placeholder"))
    made = (node("mm"), node("relu"), node("detach"), node("sum_1"))
    forward = Graph(nodes=(*inputs, *made), compile_id="0/0")
    saved = (node("detach", "placeholder"), node("tangents_1", "placeholder"), node("mm"))
    backward = Graph(nodes=saved, compile_id="0/0")
    (cut,) = partition.read_partitions(trace, (forward,), (backward,))
    assert [(v.name, v.fate, v.bytes) for v in cut.values] == [
        ("primals_1", "input", 256),
        ("primals_2", "input", 512),
        ("mm", "recomputed", 128),
        ("relu", "saved", 128),
        ("detach", "saved", 128),
        ("sum_1", "forward only", 16),
    ]
    banned = {v.name: v.banned for v in cut.values if v.banned}
    assert banned["mm"] == "not in recomputable allowlist" and "primals_1" not in banned
    sizes = {fate: cut.bytes_of(fate) for fate in ("input", "saved", "recomputed", "forward only")}
    assert sizes == {"input": 768, "saved": 128, "recomputed": 128, "forward only": 16}


@each_version
def test_a_cut_without_a_backward_is_left_out(version):
    assert (
        partition.read_partitions(Trace(), (Graph(compile_id="0/0"),), (Graph(compile_id="0/0"),))
        == ()
    )
    assert partition.read_partitions(stepped(version), (), ()) == ()


@each_version
def test_memory_by_phase(version):
    run = memory.read_memory_run("eager", said(version, "memory"))
    assert [phase.name for phase in run.phases] == ["forward", "backward"]
    forward, backward = run.phases
    assert [(m.bytes, m.during) for m in forward.moments][:3] == [
        *((8, ""), (12, "aten::empty_strided"), (1036, "aten::add"))  # 1 as a tensor, then x + 1
    ]
    assert [m.during for m in backward.moments][4:6] == ["MulBackward0", "aten::threshold_backward"]
    assert run.after("backward") == 1024  # the gradient
    assert run.peak == max(m.bytes for m in (*forward.moments, *backward.moments)) == 3080
    with pytest.raises(KeyError):
        run.after("optimizer")


def test_a_compiled_graph_is_called_so():
    events = [
        {"name": "tclab: all", "cat": "user_annotation", "ph": "X", "ts": 0, "dur": 9},
        {"name": "## Call CompiledFxGraph fabc ##", "cat": "cpu_op", "ph": "X", "ts": 1, "dur": 5},
        {"name": "[memory]", "ph": "i", "ts": 2, "args": {"Bytes": 64}},
        {"name": "[memory]", "ph": "i", "ts": 8, "args": {"Bytes": -64}},
    ]
    (phase,) = memory.read_memory_run("compiled", events).phases
    assert [(m.bytes, m.during) for m in phase.moments] == [(64, "compiled graph"), (0, "")]


def test_entries_go_by_their_own_number():
    assert compiler.cache_entries(test_entries_go_by_their_own_number.__code__) == []


SOFTMAX = SourceLine("functions.py", 71, "return torch.softmax(x, -1), x.sum(0)")


def decided(version: str, graph: Graph | None) -> FusionPairs:
    """What was decided on the pairs of a softmax along rows and a sum along columns."""
    *several, last = said(version, "pairs")
    events = [Event(e["name"], _note(e["data"]), e["text"], "0/0") for e in several]
    origins = {op: tuple(map(tuple, marks)) for op, marks in last["data"]["origins"].items()}
    groups = [FusedGroup(tuple(g["ops"]), g["bytes"]) for g in last["data"]["groups"]]
    pairs = fusion.read_pairs(events, LoopBodiesNote({}, origins, tuple(groups)), graph)
    assert pairs is not None
    return pairs


def _note(data: dict[str, Any] | None) -> FusionQueryNote | FusedNote | None:
    if data is None:
        return None
    sides = {side: tuple(data[side]) for side in ("first", "second")}
    if "may" not in data:
        return FusedNote(**{**data, **sides})
    return FusionQueryNote(**{**data, **sides, "shared": tuple(map(tuple, data["shared"]))})


@each_version
def test_what_a_kernel_s_nodes_were_not_fused_with_and_why(version: str) -> None:
    pairs = decided(version, None)
    groups = [("op0",), ("op1",), ("op1", "op2"), ("op0", "op1", "op2", "op3")]
    refused = [NotFused(group, ("op4",), "no shared data") for group in groups]
    assert facts._refused_pairs({"op4"}, pairs) == tuple(refused)


@each_version
def test_pairs_that_were_fused_and_what_it_saves(version):
    pairs = decided(version, None)
    rows, all_but_columns = 32 * 4, ("op0", "op1", "op2", "op3")
    assert pairs.groups == (all_but_columns, ("op4",))
    assert [(p.first, p.second, p.saved, p.round) for p in pairs.select_pairs("fused")] == [
        (("op1",), ("op2",), 32 * rows, 1),  # what is between them is not read again
        (("op0",), ("op1", "op2"), 32 * rows + 2 * rows, 2),  # the maxima are not written
        (("op0", "op1", "op2"), ("op3",), 2 * (32 * rows + rows), 2),
    ]
    assert all(p.reason == "" for p in pairs.select_pairs("fused"))


@each_version
def test_pairs_that_were_refused_and_why(version):
    pairs = decided(version, None)
    between = pairs.pair("op1", "op3")
    assert between.reason == "intermediate nodes between node1 & node2"
    assert pairs.share_group(between) and between.shared == {"buf1": 32 * 32 * 4}
    apart = [pair for pair in pairs.select_pairs("refused") if pair.reason == "no shared data"]
    assert apart and all("op4" in pair.ops and not pair.shared for pair in apart)
    assert len(apart) + 1 == len(pairs.select_pairs("refused"))
    assert all(pairs.share_group(pair) for pair in pairs.select_pairs("possible"))
    with pytest.raises(KeyError, match="op3 with op0 was not considered"):
        pairs.pair("op3", "op0")


@each_version
def test_nodes_of_the_scheduler_are_those_of_the_graph(version):
    nodes = tuple(
        Node(name, "call_function", "aten.x", source=SOFTMAX) for name in ("amax", "exp", "sub")
    )
    known = {node.name: node for node in decided(version, Graph(nodes=nodes)).nodes}
    assert (known["op0"].computes, known["op0"].locations) == (("amax",), (SOFTMAX,))
    assert (set(known["op1"].computes), known["op1"].locations) == ({"exp", "sub"}, (SOFTMAX,))
    assert (known["op4"].computes, known["op4"].locations) == (("sum_2",), ())


def test_a_pair_that_would_make_a_circle_is_refused_after_all():
    asked = FusionQueryNote(("op0",), ("op1",), True, (("buf0", 4),))
    why = Event("fusion", None, "cannot fuse op0 with op1: will create cycle")
    body = LoopBodiesNote({}, {"op0": (), "op1": ()})
    pairs = fusion.read_pairs([Event(names.FUSION_QUERY, asked), why], body, None)
    assert [(p.verdict, p.reason) for p in pairs.pairs] == [("refused", "will create cycle")]
    again = fusion.read_pairs([why, Event(names.FUSION_QUERY, asked)], body, None)
    assert [(p.verdict, p.reason) for p in again.pairs] == [("possible", "")]
    assert fusion.read_pairs([], None, None) is None


def _call(data: dict[str, Any]) -> CallNote:
    shape = data["shape"] and tuple(data["shape"])
    return CallNote(**{**data, "shape": shape, "dtype": short_dtype(data["dtype"])})


@each_version
def test_each_call_and_what_it_becomes(version):
    traced = [list(map(_call, level)) for level in said(version, "levels")]
    shown = levels.read_levels(traced)
    aten, core, prims = shown.levels
    assert aten.operators == ("aten.mm", "aten.silu", "aten.add.Tensor")
    assert core.operators == ("aten.mm", "aten.sigmoid", "aten.mul.Tensor", "aten.add.Tensor")
    assert [c.operator for c in shown.calls_below("ATen", "silu")] == [
        "aten.sigmoid",
        "aten.mul.Tensor",
    ]
    assert [c.operator for c in shown.calls_below("Core ATen", "mm")] == ["aten.mm"]
    assert shown.calls_below("Prims", "mm") == ()
    assert {c.origin for c in prims.calls} == {c.name for c in core.calls}
    types = {(call.location.line, call.shape, call.dtype) for call in aten.calls}
    assert types == {(75, ("4", "8"), "f32")}
    assert shown["Prims"].counts["prims.mul"] == 1
