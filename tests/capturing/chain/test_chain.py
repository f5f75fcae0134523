"""A chain as a whole: which panes, and that links lead somewhere and back."""

from __future__ import annotations

import re

import pytest
import torch
from link_following import Captured, Ways, pane

import tclab
from tclab.capturing.chain.inductor import computes_value
from tclab.capturing.machine_code.positions import is_instruction, padding_lines
from tclab.model import STAGES, Chain, decode, encode

ALL = [(name, device) for name in ("relu_chain", "softmax", "layer_norm")
       for device in ("h200", "cpu")]  # fmt: skip
MACHINE = ["ttir", "ttgir", "llir", "ptx", "sass"]


@pytest.fixture(params=ALL, ids="-".join)
def chain(request: pytest.FixtureRequest, captured: Captured) -> Chain:
    (found,) = captured(*request.param).chains()
    return found


def test_panes_stand_in_the_order_of_a_compile(chain: Chain) -> None:
    places = [STAGES.index(p.stage) for p in chain.panes]
    assert places == sorted(places)
    assert len({p.name for p in chain.panes}) == len(chain.panes)


def test_no_link_leads_nowhere_and_no_mark_is_in_vain(chain: Chain) -> None:
    links = {key for p in chain.panes for keys in p.links.values() for key in keys}
    marks = {key for p in chain.panes for keys in p.marks.values() for key in keys}
    assert links == marks
    for p in chain.panes:
        last = len(p.code.splitlines())
        assert all(1 <= line <= last for line in (*p.links, *p.marks))


def test_nothing_was_made_from_itself(chain: Chain) -> None:
    ways = Ways(chain)
    cycles = [place for place in ways.up if place in ways.reach(place, ways.up)]
    assert cycles == []


def test_a_chain_survives_being_stored(chain: Chain) -> None:
    assert decode(encode(chain)) == chain


@pytest.mark.parametrize("name", ["relu_chain", "softmax", "layer_norm"])
def test_each_python_line_reaches_sass_and_comes_back(captured: Captured, name: str) -> None:
    (chain,) = captured(name, "h200").chains()
    ways = Ways(chain)
    python = [i for i, p in enumerate(chain.panes) if p.stage == "python"]
    starts = [(i, n) for i in python for n in chain.panes[i].marks
              if not ways.text((i, n)).startswith("def")]  # fmt: skip
    assert starts
    for start in starts:
        below = ways.reach(start, ways.down)
        assert ways.stages(below) >= {"bytecode", "dynamo", "forward", "ir", "kernel", *MACHINE}
        ends = [p for p in below if chain.panes[p[0]].stage == "sass"]
        assert all(start in ways.reach(end, ways.up) for end in ends)


@pytest.mark.parametrize("name", ["relu_chain", "softmax", "layer_norm"])
def test_each_instruction_comes_from_a_kernel_line(captured: Captured, name: str) -> None:
    (chain,) = captured(name, "h200").chains()
    ways = Ways(chain)
    for i, p in enumerate(chain.panes):
        if p.stage != "sass":
            continue
        code = p.code.splitlines()
        padding = padding_lines(code)
        own = [n for n, line in enumerate(code, 1) if is_instruction(line) and n not in padding]
        linked = [n for n in own if ways.origins((i, n), "kernel")]
        assert len(linked) >= 0.9 * len(own)
        stores = [n for n in own if re.search(r"\bSTG\b", code[n - 1])]
        assert stores
        for n in stores:
            (line,) = ways.origins((i, n), "kernel")
            assert line.startswith("tl.store(")
            assert ways.origins((i, n), "python")


def test_each_stage_below_the_kernel_agrees_on_the_kernel_line(captured: Captured) -> None:
    (chain,) = captured("relu_chain", "h200").chains()
    ways = Ways(chain)
    product = {"ttir": r"= arith\.mulf\b", "ttgir": r"= arith\.mulf\b", "llir": r"= fmul\b",
               "ptx": r"^\s*(?:add|mul)(?:\.rn)?\.f32(?!.*0f3F800000)",
               "sass": r"\b(?:FADD|FMUL)\b(?!.*, 1 ;)"}  # fmt: skip
    for stage, pattern in product.items():
        index = next(i for i, p in enumerate(chain.panes) if p.stage == stage)
        lines = enumerate(chain.panes[index].code.splitlines(), 1)
        found = [n for n, line in lines if re.search(pattern, line)]
        assert found, stage
        for n in found:
            assert ways.origins((index, n), "kernel") == ["tmp6 = tmp4 * tmp5"], (stage, n)


def test_bytecode_and_dynamo_nodes_meet(captured: Captured) -> None:
    (chain,) = captured("relu_chain", "h200").chains()
    ways = Ways(chain)
    index = next(i for i, p in enumerate(chain.panes) if p.stage == "dynamo")
    lines = {n: line for n, line in enumerate(pane(chain, "dynamo").code.splitlines(), 1)
             if re.match(r"[^#]* = (l_x_ \+ 1|torch\.relu|y \* 2)", line)}  # fmt: skip
    assert len(lines) == 3
    opcodes = [ways.origins((index, n), "bytecode") for n in lines]
    assert all(len(found) == 1 for found in opcodes)
    assert ["BINARY_OP" in found[0] for found in opcodes] == [True, False, True]
    assert "CALL" in opcodes[1][0]


def test_index_lines_are_no_computing_lines(captured: Captured) -> None:
    (chain,) = captured("softmax", "h200").chains()
    kernel = pane(chain, "kernel")
    code = kernel.code.splitlines()
    index = [n for n, line in enumerate(code, 1) if re.match(r"\s*(x\w*|r0_\w*|rindex)\s*=", line)]
    assert len(index) > 4
    assert not [code[n - 1] for n in index if computes_value(code[n - 1], "python")]
    assert not set(index) & set(kernel.links)


def test_a_graph_that_dynamo_dropped_is_not_shown() -> None:
    """A number that must become a constant restarts the compile after its first graph."""

    def drop(x: torch.Tensor, share: float) -> torch.Tensor:
        return torch.nn.functional.dropout(x.sin(), p=share)

    c = tclab.capture(drop, dynamic=True)(torch.randn(8), 0.25)
    assert len(c.trace.select("dynamo_output_graph")) == 2  # one of each attempt
    (chain,), (graph,) = c.chains(machine_code=False), c.graphs
    stages = [pane.stage for pane in chain.panes]
    assert stages.count("dynamo") == stages.count("forward") == len(c.forward) == 1
    node = next(key for node in c.post_grad[0].nodes for key in node.keys if "sin" in key)
    shown = {key for pane in chain.panes for keys in pane.marks.values() for key in keys}
    assert node in shown and graph.name == "graph-0"
