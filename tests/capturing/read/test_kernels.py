"""Kernels split out of Inductor's output code: Triton here, C++ in test_capture."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import dataclass

import pytest
import torch

import tclab
from tclab.capturing.read import output_code
from tclab.capturing.read.kernels import read_kernels
from tclab.capturing.read.output_code import OutputCode
from tclab.model import decode, encode


def chain(x, w):
    y = (x @ w).relu()
    return torch.softmax(y, -1) * 2


@dataclass(frozen=True)
class Output:
    kernels: tuple[tclab.Kernel, ...]
    wrapper: tuple[tclab.Listing, ...]


def main() -> None:
    """Triton output for an H200, made without one, as JSON on stdout."""
    x = torch.randn(64, 64, requires_grad=True)
    c = tclab.capture(chain, backward=True, target="h200")(x, torch.randn(64, 64))
    json.dump(encode([c.kernels, c.wrapper]), sys.stdout)


@pytest.fixture(scope="module")
def triton() -> Output:
    """Made in a process of its own, in which nothing was compiled for the CPU."""
    pytest.importorskip("triton", reason="Triton is not installed")
    child = [sys.executable, "-W", "ignore", __file__]
    done = subprocess.run(child, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Output(*decode(json.loads(done.stdout)))


def test_triton_kernels_are_python_with_their_heuristic(triton):
    generated = [k for k in triton.kernels if k.category != "extern"]
    assert {k.language for k in generated} == {"python"}
    assert {k.device for k in generated} == {"cuda"}
    assert {k.category for k in generated} <= {"pointwise", "reduction", "persistent_reduction"}
    for kernel in generated:
        names = [n.name for n in ast.parse(kernel.code).body if isinstance(n, ast.FunctionDef)]
        assert names == [kernel.kernel_name]


def test_triton_kernels_know_operators_lines_and_facts(triton):
    kernel = next(k for k in triton.kernels if k.category == "persistent_reduction")
    first = chain.__code__.co_firstlineno
    assert {"aten.relu", "aten.exp"} <= set(kernel.origins)
    assert {s.line for s in kernel.source_lines} == {first + 1, first + 2}
    assert kernel.facts.written["size_hints"] == "{'x': 64, 'r0_': 64}"
    assert kernel.facts.written["grid_type"] == "Grid1D"
    assert kernel.facts.first_call.startswith(kernel.kernel_name + ".run(")


def test_kernels_come_in_the_order_of_their_calls(triton):
    assert triton.kernels[0].kernel_name == "extern_kernels.mm"
    assert triton.kernels[0].device == "cuda"


def test_wrapper_links_calls_and_definitions(triton):
    lines = triton.wrapper[0].code.splitlines()
    linked = {lines[n - 1].strip().partition("(")[0]: k for n, k in triton.wrapper[0].links.items()}
    kernel = next(k for k in triton.kernels if k.category == "persistent_reduction")
    definition = f"{kernel.kernel_name} = async_compile.triton"
    assert linked[f"{kernel.kernel_name}.run"] == linked[definition]
    assert any(key.startswith("fx:post_grad:0:") for key in linked[definition])


CODE = """
# Topologically Sorted Source Nodes: [a], Original ATen: [aten.add]
# Graph fragment:
#   %add : Tensor "f32[8]" = call_function[target=torch.ops.aten.add.Tensor](args = (%x, 1))
triton_poi_0 = async_compile.triton('triton_poi_0', '''
@triton_heuristics.pointwise(size_hints={'x': 8}, inductor_meta={'grid_type': 'Grid1D'})
def triton_poi_0(): pass
''', device_str='cuda')

def call(args):
    # [Provenance debug handles] triton_poi_0:1
    raw = get_raw_stream(0)
    triton_poi_0.run(a, b, 8, stream=raw)
    # [Provenance debug handles] extern_kernels.mm:2
    extern_kernels.mm(b, b, out=c)
    triton_poi_0.run(c, d, 8, stream=raw)
    e = torch.ops.aten.sort.default(d)
    torch.ops.inductor._reinterpret(e)
"""


def test_a_kernel_called_twice_is_one_kernel():
    names = [(k.kernel_name, k.facts.calls) for k in read_kernels(OutputCode.parse(CODE))]
    assert names == [
        ("triton_poi_0", 2), ("extern_kernels.mm", 0), ("torch.ops.aten.sort.default", 0),
    ]  # fmt: skip


def test_the_record_goes_to_the_call_below_its_handle_only():
    x, add, mm = (tclab.model.Node(n, "call_function", f"torch.ops.aten.{n}.default", keys=(n,))
                  for n in ("x", "add", "mm"))  # fmt: skip
    graph = tclab.model.Graph(nodes=(x, add, mm))
    record = {"triton_poi_0:1": ("add",), "extern_kernels.mm:2": ("mm",)}
    found = {k.kernel_name: k.origins for k in read_kernels(OutputCode.parse(CODE, record, graph))}
    assert found == {
        "triton_poi_0": ("aten.add",), "extern_kernels.mm": ("aten.mm",),
        "torch.ops.aten.sort.default": (),
    }  # fmt: skip


def test_the_comment_is_the_fallback():
    add = tclab.model.Node("add", "call_function", "torch.ops.aten.add.Tensor")
    kernel, *_ = read_kernels(OutputCode.parse(CODE, {}, tclab.model.Graph(nodes=(add,))))
    assert kernel.origins == ("aten.add",)
    assert kernel.facts.original_aten == ("aten.add",)


def test_handles_are_taken_out_of_the_code():
    without = output_code.strip_handles(CODE)
    assert "Provenance" not in without
    assert without.count("\n") == CODE.count("\n") - 2


def test_output_that_is_not_python_has_no_kernels():
    assert read_kernels(OutputCode.parse('extern "C" void f() {}')) == []


@pytest.mark.parametrize("value", ["-" * 100_000 + "1", "1" + "+1" * 30_000, "9" * 5_000])
def test_a_file_too_deep_for_the_parser_is_only_text(value: str) -> None:
    code = f"x = {value}\n"
    assert OutputCode.parse(code).text == code


if __name__ == "__main__":
    main()
