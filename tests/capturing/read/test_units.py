"""What Inductor compiled of each graph, as one object."""

from __future__ import annotations

import ast
from typing import Any

import pytest

import tclab
from tclab.capturing.read import units
from tclab.capturing.result import Capture
from tclab.capturing.trace.events import Trace
from tclab.model import Graph, Node


def test_a_unit_holds_what_was_made_of_its_graph(training: tclab.Capture) -> None:
    forward, backward = training.units
    assert (forward.index, backward.index) == (0, 1)
    assert (forward.direction, backward.direction) == ("forward", "backward")
    assert {unit.compile_id for unit in training.units} == {"0/0"}
    assert training.ir == (forward.ir, backward.ir)
    assert training.ir_pre_fusion == (forward.ir_pre_fusion, backward.ir_pre_fusion)
    assert training.wrapper == (forward.wrapper, backward.wrapper)
    assert training.kernels == forward.kernels + backward.kernels
    for unit in training.units:
        generated = [k for k in unit.kernels if k.category != "extern"]
        assert [k.kernel_name for k in generated] == list(unit.output.cpp_sources())
        assert unit.loop_bodies and all(unit.notes_on(kernel) for kernel in generated)
        assert not unit.output.triton_sources() and not unit.compiled


def test_output_code_is_parsed_once(training: tclab.Capture, monkeypatch: Any) -> None:
    parsed: list[str] = []
    parse = ast.parse

    def counted(source: Any, *args: Any, **kwargs: Any) -> ast.AST:
        parsed.append(str(source))
        return parse(source, *args, **kwargs)

    monkeypatch.setattr(ast, "parse", counted)
    again = Capture(training.trace)
    assert again.chains(machine_code=False) and again.fusion.code
    assert again.kernels == training.kernels and again.wrapper == training.wrapper
    files = [text for text in parsed if "async_compile" in text]
    assert len(files) == len(set(files)) == len(again.units) == 2


GRAPHS = tuple(
    Graph(nodes=(Node(name, "call_function", f"torch.ops.aten.{name}.default"),))
    for name in ("add", "mul")
)
CODE = """# AOT ID: ['7_{direction}']
k = async_compile.cpp_pybind(['float*'], '''
void k() {{}}
''')

def call(args):
    # [Provenance debug handles] k:1
    k(args)
"""


def heard(*events: tuple[str, Any, str]) -> Trace:
    trace = Trace()
    for name, data, payload in events:
        trace.add(name, data, payload, (0, 0))
    return trace


def test_what_follows_a_graph_is_its_own() -> None:
    trace = heard(
        ("inductor_post_grad_graph", None, ""),
        ("ir_pre_fusion", None, "BEFORE FUSION\nop0\n"),
        ("fusion", None, "fused"),
        ("inductor_post_grad_graph", None, ""),
        ("ir_post_fusion", None, "AFTER FUSION\nop0\n"),
        ("inductor_output_code", None, CODE.format(direction="inference")),
        ("kernel_nodes", {"k:1": ("mul",)}, ""),
        ("inductor_post_grad_graph", None, ""),
        ("inductor_output_code", None, CODE.format(direction="inference")),
    )
    given_up, done, again = units.read_units(trace, GRAPHS)
    assert given_up.ir_pre_fusion and given_up.fusion == ("fused",)
    assert not (given_up.ir or given_up.wrapper or given_up.kernels or given_up.direction)
    assert done.ir and done.ir.code == "op0\n" and done.ir_pre_fusion is None
    assert [kernel.origins for kernel in done.kernels] == [("aten.mul",)]
    assert done.wrapper and done.wrapper.code.startswith("# AOT ID: ['1_inference']\n")
    assert [unit.wrapper and unit.wrapper.name for unit in (done, again)] == [
        *("wrapper-forward", "wrapper-forward-1"),
    ]
    assert [kernel.name for unit in (done, again) for kernel in unit.kernels] == [
        *("kernel-k", "kernel-k-1"),
    ]


def test_what_is_heard_before_any_graph_takes_no_graph() -> None:
    trace = heard(
        ("inductor_output_code", None, CODE.format(direction="forward")),
        ("inductor_post_grad_graph", None, ""),
        ("inductor_output_code", None, CODE.format(direction="backward")),
        ("kernel_nodes", {"k:1": ("add",)}, ""),
    )
    without, own = units.read_units(trace, GRAPHS[:1])
    assert [kernel.origins for kernel in (*without.kernels, *own.kernels)] == [(), ("aten.add",)]


def test_stages_of_a_kernel_that_is_not_triton_s(training: tclab.Capture) -> None:
    with pytest.raises(KeyError, match="no Triton kernel 'cpp_fused_0'; there are: none"):
        training.stages("cpp_fused_0")
