"""Operations, bytes and runs of kernels, against PyTorch's own flop counter on real tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - as users call it
from torch.utils.flop_counter import FlopCounterMode

from tclab.capturing import capture
from tclab.capturing.read.operations import Operations
from tclab.capturing.read.printed_graph import parse
from tclab.capturing.read.sizes import Sizes
from tclab.capturing.read.traffic import Traffic
from tclab.capturing.read.work import Work
from tclab.model import Graph, KernelRow, rows_of_chains

HALF = torch.bfloat16


def rows(fn: Callable[..., Any], *args: Any, **options: Any) -> tuple[KernelRow, ...]:
    captured = capture(fn, target="h100", **options)(*args)
    return rows_of_chains(captured.chains(machine_code=False))


def operations_in_eager(fn: Callable[..., Any], args: tuple[Any, ...], backward: bool) -> int:
    with FlopCounterMode(display=False) as counter:
        result = fn(*args)
        if backward:
            result.sum().backward()
    return int(counter.get_total_flops())


def convolve(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return F.conv2d(x, w, padding=1).relu()


PRODUCTS = {
    "mm": (lambda x, w: (x @ w).relu(), (64, 128), (128, 256)),
    "linear": (F.linear, (64, 128), (256, 128), (256,)),
    "bmm": (lambda x, w: x @ w, (4, 32, 64), (4, 64, 16)),
    "convolution": (convolve, (4, 16, 14, 14), (32, 16, 3, 3)),
    "attention": (F.scaled_dot_product_attention, *[(2, 4, 128, 64)] * 3),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("backward", [False, True])
def test_operations_are_those_of_pytorchs_counter(name: str, backward: bool) -> None:
    fn, *shapes = PRODUCTS[name]
    args = tuple(torch.randn(shape, dtype=HALF, requires_grad=backward) for shape in shapes)
    counted = sum(row.operations or 0 for row in rows(fn, *args, backward=backward))
    on_meta = tuple(a.detach().to("meta").requires_grad_(backward) for a in args)
    if name == "attention":  # eager takes another kernel on a CPU; the two products are the same
        assert counted == (7 if backward else 2) * 2 * 2 * 4 * 128 * 128 * 64
    else:
        assert counted == operations_in_eager(fn, on_meta, backward) > 0


@pytest.mark.parametrize(
    ("fn", "upcast"),
    [
        (lambda x, w: x.float() @ w.float(), "bf16"),
        (lambda x, w: x.float() @ w.float().t(), "bf16"),
        (lambda x, w: torch.addmm(w[0].float(), x.float(), w.float()), "bf16"),
        (lambda x, w: (x.float() * 1.5) @ w.float(), ""),
        (lambda x, w: x @ w, ""),
        (lambda x, w: x.double() @ w.double(), ""),
    ],
)
def test_a_product_of_converted_values(fn: Callable[..., Any], upcast: str) -> None:
    args = torch.randn(64, 64, dtype=HALF), torch.randn(64, 64, dtype=HALF)
    (product,) = (row for row in rows(fn, *args) if row.operations)
    assert product.upcast == upcast


def test_a_causal_attention_computes_the_lower_triangle() -> None:
    q = torch.randn(2, 4, 128, 64, dtype=HALF)

    def attend(q: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, q, q, is_causal=True)

    (row,) = rows(attend, q)
    assert row.operations == 2 * 2 * 2 * 4 * 64 * (128 * 129 // 2)
    assert row.rate == "f16"


def test_bytes_of_a_library_call_are_its_inputs_and_its_output_once() -> None:
    x, w = torch.randn(64, 128), torch.randn(128, 256)
    (row,) = rows(lambda x, w: x @ w, x, w)
    assert (row.category, row.bytes) == ("extern", 4 * (64 * 128 + 128 * 256 + 64 * 256))
    square = torch.randn(128, 128)
    (row,) = rows(lambda x: x @ x.t(), square)  # one tensor, read through a view as well
    assert row.bytes == 4 * 2 * 128 * 128


@pytest.mark.parametrize(("precision", "rate"), [("highest", "f32"), ("high", "tf32")])
def test_the_rate_of_float32_products_is_that_of_the_setting(precision: str, rate: str) -> None:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        (row,) = rows(lambda x: x @ x, torch.randn(64, 64))
    finally:
        torch.set_float32_matmul_precision(before)
    assert row.rate == rate


def test_symbolic_sizes_are_those_of_the_first_call() -> None:
    x, w = torch.randn(33, 64), torch.randn(64, 64)
    found = rows(lambda x, w: (x @ w).sin(), x, w, dynamic=True)
    (product,) = [row for row in found if row.category == "extern"]
    (kernel,) = [row for row in found if row.category != "extern"]
    assert product.operations == 2 * 33 * 64 * 64
    assert product.bytes == 4 * (33 * 64 + 64 * 64 + 33 * 64)
    assert kernel.bytes == 4 * 2 * 33 * 64


def test_a_graph_of_a_later_call_does_not_run_in_the_first() -> None:
    calls = [(torch.randn(8, 16),), (torch.randn(9, 16),)]
    for target in ({}, {"target": "h100"}):
        captured = capture(lambda x: (x * 2).sin().sum(-1), **target).over(calls)
        chains = captured.chains(machine_code=False)
        assert [(chain.runs, chain.boundary) for chain in chains] == [(1, 544), (0, 612)]


def test_a_graph_that_one_call_runs_often_counts_each_run() -> None:
    def layer(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).sin()

    def often(x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        for _ in range(3):
            x = layer(x)
            torch._dynamo.graph_break()
        return x

    for target in ({}, {"target": "h100"}):
        chains = capture(often, **target)(torch.randn(8)).chains(machine_code=False)
        assert sum(chain.runs for chain in chains) == 3


# --------------------------------------------------------------------------- from text

HEAD = 'class <lambda>(torch.nn.Module):\n    def forward(self, table: "f32[1000, 8]", at: "i64[4]"'
READS_ROWS = (
    HEAD + '):\n        index: "f32[4, 8]" = torch.ops.aten.index.Tensor(table, [at])\n'
    "        return (index,)\n"
)
MASKED = (
    HEAD
    + '):\n        s: "f32[4, 8]" = torch.ops.aten._transformer_encoder_layer_fwd.default(at)\n'
    "        return (s,)\n"
)


def test_a_gather_reads_the_rows_that_it_names() -> None:
    graph = Graph(nodes=parse(READS_ROWS).nodes)
    assert Traffic(graph, Sizes()).count_boundary_bytes() == 4 * 8 * 4 + 4 * 8 + 4 * 8 * 4


def test_an_operator_that_may_hide_a_product_is_not_taken_for_free() -> None:
    nodes = parse(MASKED).nodes
    (encoder,) = [node for node in nodes if node.name == "s"]
    assert Operations(nodes, Sizes()).count([encoder])[0] is None
    assert (
        Work.from_graph(Graph(nodes=nodes), Sizes(), {}).describe_library_call([encoder]).operations
        is None
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("2*s77", 66), ("(s77//2)", 16), ("s77 + 1", 34), ("Max(1, s77)", 33), ("u0", None),
     ("s77 + u0", None)],
)  # fmt: skip
def test_a_size_with_symbols_has_their_hints(text: str, value: int | None) -> None:
    assert Sizes({"s77": 33}).number(text) == value
