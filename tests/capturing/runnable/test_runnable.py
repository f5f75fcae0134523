"""A runnable is read without being run; what Inductor does not print there is refused by name."""

from __future__ import annotations

import ast
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclab.capturing.runnable.syntax import read_runnable
from tclab.capturing.runnable.values import Items, Ref, Refused
from tests.capturing.runnable.sample import HOSTILE, SHARED, TEXT, changed

#: Pieces of Python that random texts are put together from.
PIECES = [
    "torch.ops.aten.mul.Tensor(mm, 2.0)", "mm", "open('MARK', 'w')", "__import__('os')", "self",
    "().__class__", "getattr(mm, 'x')", "mm.x", "eval('1')", "[1, -2]", "None", "torch.float32",
    "device(type='cpu')", "exec", "lambda: 0", "{1: mm}", "mm[0]", "mm + 1", "*mm", "yield",
]  # fmt: skip


def test_the_graph_is_what_is_printed() -> None:
    read = read_runnable(TEXT)
    names = [call.name for call in read.graph.calls]
    assert names == ["mm", "mul", "relu", "sum_1"]
    assert read.graph.calls[1].args == (Ref("mm"), 2.0)
    assert read.graph.output == Items((Ref("relu"), Ref("sum_1")), True)
    assert read.settings["torch._inductor.config.deterministic"] is False
    line = TEXT.splitlines()[read.graph.calls[2].line - 1]
    assert line.strip().startswith("relu = ")


#: A graph with another one inside, as the record before_post_grad_graph prints it.
NESTED = """\
class GraphModule(torch.nn.Module):
    def forward(self, a: "f32[s33]"):
        true_graph_0 = self.true_graph_0
        return (a,)

    class true_graph_0(torch.nn.Module):
        def forward(self, x: "f32[s33]"):
            return (x,)
"""


@pytest.mark.parametrize("inside", ["<lambda>()", "GraphModule()"])
def test_symbols_and_graphs_inside_are_read(inside: str) -> None:
    attribute = f"super().__init__()\n        self.true_graph_0 = {inside}"
    read = read_runnable("s33 = 4\n" + TEXT.replace("super().__init__()", attribute), NESTED)
    assert read.hints == {"s33": 4}
    assert [*read.graph.inner] == ["true_graph_0"] and read.graph.inputs == ("a",)


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_texts_are_refused_by_name(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling = pytest.importorskip("tclab.capturing.runnable.compiling")
    monkeypatch.chdir(tmp_path)
    question = compiling.Question(changed(name), is_inference=True)
    with pytest.raises(Refused) as refused:
        compiling.compile_again(question)
    assert HOSTILE[name][2] in refused.value.cause
    assert refused.value.place.startswith("fx_graph_runnable, line")
    assert not [*tmp_path.iterdir()]


def test_a_collective_has_the_groups_of_the_job() -> None:
    assert read_runnable(SHARED).groups == {"mine": {"size": 4, "rank": 1}}
    compiling = pytest.importorskip("tclab.capturing.runnable.compiling")
    for _ in range(2):  # a group is left before the next graph
        code = compiling.compile_again(compiling.Question(SHARED, is_inference=True)).code
        assert re.search(r"all_gather_into_tensor\.default\(buf\d, 4, 'mine'\)", code)
        assert "(32, 32)" in code  # four times eight rows


def test_the_compiler_that_a_trace_names_is_not_taken() -> None:
    read_settings = pytest.importorskip("tclab.capturing.runnable.settings").setting_values
    text = TEXT.replace("config.deterministic = False", "config.cpp.cxx = ('/tmp/mine',)")
    assert "torch._inductor.config.cpp.cxx" in read_runnable(text).settings
    assert read_settings(read_runnable(text).settings) == {}


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.sampled_from(["({})", "[{}]"]))
def test_random_nodes_are_read_or_refused(pieces: list[str], around: str) -> None:
    value = around.format(", ".join(pieces))
    text = TEXT.replace(
        "torch.ops.aten.mul.Tensor(mm, 2.0)", f"torch.ops.aten.cat.default({value})"
    )
    try:
        read = read_runnable(text)
    except Refused:
        return
    assert [call.name for call in read.graph.calls] == ["mm", "mul", "relu", "sum_1"]
    words = {node.id for node in ast.walk(ast.parse(value)) if isinstance(node, ast.Name)}
    assert words <= {"mm", "torch", "device"}


def test_a_million_nodes_are_refused_quickly() -> None:
    line = "        mul = torch.ops.aten.mul.Tensor(mm, 2.0)\n"
    began = time.perf_counter()
    with pytest.raises(Refused, match="longer than a graph of Inductor's"):
        read_runnable(TEXT.replace(line, line * 1_000_000))
    assert time.perf_counter() - began < 5
