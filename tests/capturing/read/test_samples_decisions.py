"""Instructions, failed guards, cuts and memory, as five versions of PyTorch said them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tclab.capturing.read import memory, partition, replay, steps
from tclab.capturing.torch_private import compiler
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.notes import CutNote, CutValue, StepNote
from tclab.model import Graph, Node
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
    walk = [(s.name, s.argument, s.stack, s.nodes) for s in steps.steps(stepped(version))]
    assert walk == [
        ("LOAD_FAST", "x", (), ()),
        ("LOAD_FAST", "index", (lazy,), ()),
        ("BINARY_SUBSCR", "", (lazy, lazy), ("l_x_", "l_index_", "getitem")),
        ("LOAD_CONST", "1", ("TensorVariable()",), ()),
        ("BINARY_OP", "+", ("TensorVariable()", "ConstantVariable(int: 1)"), ("add",)),
        ("RETURN_VALUE", "", ("TensorVariable()",), ()),
    ]
    places = [(s.location.line, s.location.function) for s in steps.steps(stepped(version))]
    assert set(places) == {(25, "rows")}


def test_a_stack_is_split_at_its_own_commas():
    assert list(steps.values("A(x, [1, 2]), B({'a': (3, 4)}), C()")) == [
        *("A(x, [1, 2])", "B({'a': (3, 4)})", "C()")
    ]
    assert list(steps.values("")) == []


@each_version
def test_a_failed_guard_without_its_place(version):
    assert [replay.first_line(guard) for guard in said(version, "guards")] == [
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
    (cut,) = partition.partitions(trace, (forward,), (backward,))
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
        partition.partitions(Trace(), (Graph(compile_id="0/0"),), (Graph(compile_id="0/0"),)) == ()
    )
    assert partition.partitions(stepped(version), (), ()) == ()


@each_version
def test_memory_by_phase(version):
    run = memory.run("eager", said(version, "memory"))
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
    (phase,) = memory.run("compiled", events).phases
    assert [(m.bytes, m.during) for m in phase.moments] == [(64, "compiled graph"), (0, "")]


def test_entries_go_by_their_own_number():
    assert compiler.entries(test_entries_go_by_their_own_number.__code__) == []
