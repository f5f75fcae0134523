"""What a call costs at least, from rows and rates by hand, and of real captures."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import tclab
from tclab import targets
from tclab.capturing.trace import names
from tclab.explain.costs import call_cost, floor, likely_bounds, measured_costs, work_kind
from tclab.model import Chain, Kernel, KernelRow, rows_of_chains

H200 = targets.get("h200")
GPU = Chain(panes=(Kernel(device="cuda", stage="kernel"),))
LARGE = KernelRow("triton_poi", "pointwise", "python", graph=0, bytes=2**30, operations=0)
PRODUCT = KernelRow(
    "extern_kernels.mm", "extern", "python", graph=0, bytes=2**20, operations=10**13, rate="f32"
)


def test_a_kernel_takes_the_longer_of_bytes_and_operations() -> None:
    memory, products = floor(LARGE, H200), floor(PRODUCT, H200)
    assert memory and memory.bound == "memory"
    assert memory.seconds == pytest.approx((2**30 - H200.l2_bytes) / 4.814e12, rel=1e-3)
    assert products and products.bound == "products"
    assert products.seconds == pytest.approx(10**13 / 66.9e12, rel=1e-2)


def test_what_fits_in_l2_is_not_charged_at_the_bandwidth_of_memory() -> None:
    small = floor(replace(LARGE, bytes=2**24), H200)
    assert small and small.seconds == pytest.approx(2**24 / H200.l2_bytes_per_second)
    assert small.seconds < 2**24 / H200.clocks.bytes_per_second
    many = floor(replace(LARGE, bytes=2**30, times=64), H200)  # 16 MiB each
    assert many and many.seconds == pytest.approx(64 * small.seconds)


@pytest.mark.parametrize("unknown", [{"bytes": None}, {"operations": None}, {"language": "cpp"}])
def test_a_row_with_something_unknown_has_no_floor(unknown: dict[str, object]) -> None:
    row = replace(LARGE, **unknown)  # type: ignore[arg-type]
    assert floor(row, H200) is None
    cost = call_cost([GPU], [row, LARGE], H200)
    assert cost and cost.unknown == 1 and cost.memory > 0


def test_a_call_adds_up_the_runs_of_its_graphs() -> None:
    twin = replace(GPU, runs=0)
    later = replace(LARGE, graph=1, runs=0)
    once = call_cost([GPU, twin], [LARGE, later], H200)
    assert once == call_cost([GPU], [LARGE], H200)  # the twin was compiled by a later call
    thrice = call_cost([replace(GPU, runs=3)], [replace(LARGE, runs=3)], H200)
    assert once and thrice and (once.kernels, thrice.kernels) == (1, 3)
    assert thrice.memory == pytest.approx(3 * once.memory)
    assert thrice.launches == pytest.approx(3 * once.launches)


def test_float32_products_would_take_less_with_tf32() -> None:
    cost = call_cost([GPU], [PRODUCT], H200)
    assert cost and cost.tf32 == pytest.approx(cost.products / 8)
    with_tf32 = call_cost([GPU], [replace(PRODUCT, rate="tf32")], H200)
    assert with_tf32 and with_tf32.tf32 is None
    assert with_tf32.products == pytest.approx(cost.tf32)
    t4 = call_cost([GPU], [PRODUCT], targets.get("t4"))
    assert t4 and t4.tf32 is None  # it has no TF32


def test_products_of_converted_values_would_take_less_without() -> None:
    upcast = replace(PRODUCT, upcast="bf16")
    cost = call_cost([GPU], [upcast, PRODUCT], H200)
    assert cost and cost.narrow and cost.tf32 and cost.narrow < cost.products
    one = call_cost([GPU], [upcast], H200)
    assert one and one.narrow and one.narrow == pytest.approx(one.products / 16, rel=0.1)
    none = call_cost([GPU], [PRODUCT], H200)
    assert none and none.narrow is None


def test_what_enters_and_leaves_a_graph_comes_from_memory() -> None:
    """Eight kernels of 16 MiB find in L2 what the one before left, but not 128 MiB of weights."""
    row = replace(LARGE, bytes=2**27, times=8)
    inside = call_cost([replace(GPU, boundary=2**20)], [row], H200)
    weights = call_cost([replace(GPU, boundary=2**27)], [row], H200)
    assert inside and weights and weights.memory > 1.5 * inside.memory


def test_launches_and_library_calls_are_counted_apart() -> None:
    rows = [
        replace(LARGE, times=5),
        replace(PRODUCT, times=2),
        replace(LARGE, direction="backward"),
    ]
    cost, costs = call_cost([GPU], rows, H200), measured_costs()
    assert cost and (cost.kernels, cost.library_calls) == (6, 2)
    launches = costs.training + 6 * costs.kernel + 2 * costs.library_call
    assert cost.launches == pytest.approx(launches)
    replayed = call_cost([GPU], rows, H200, cuda_graphs=True)
    assert replayed and replayed.launches == costs.training


def test_a_kernel_for_the_cpu_is_not_launched_but_of_unknown_cost() -> None:
    on_cpu = replace(LARGE, name="cpp_fused", language="cpp")
    alone, both = call_cost([GPU], [LARGE], H200), call_cost([GPU], [LARGE, on_cpu], H200)
    assert alone and both and (both.kernels, both.unknown) == (1, 1)
    assert both.launches == alone.launches


def test_nothing_is_known_of_a_cpu_or_an_unknown_device() -> None:
    assert call_cost([Chain(panes=(Kernel(device="cpu", stage="cpp"),))], [LARGE], H200) is None
    assert call_cost([GPU], [LARGE], None) is None


@pytest.mark.parametrize("bound", ["memory", "products"])
@pytest.mark.parametrize("kind", ["generated", "convolutions"])
def test_the_bound_weighs_launches_against_what_each_kind_attains(kind: str, bound: str) -> None:
    """From a quarter more than the GPU's work on launches bind; within half as much, either may."""
    attained, launches = measured_costs().attained, 10e-6
    even = launches / attained["launches"] / 1.25 * attained[kind]
    said = {
        share: likely_bounds(launches, {(kind, bound): share * even})
        for share in (0.6, 0.7, 0.9, 1.1, 1.4, 1.6)
    }
    assert said == {
        0.6: ("launches", ""),
        0.7: ("launches", bound),
        0.9: ("launches", bound),
        1.1: (bound, "launches"),
        1.4: (bound, "launches"),
        1.6: (bound, ""),
    }


def test_bytes_and_products_that_take_about_as_long_are_both_named() -> None:
    attained = measured_costs().attained
    work = {("generated", "memory"): attained["generated"], ("products", "products"): 0.0}
    assert likely_bounds(1e-6, work) == ("memory", "")
    work["products", "products"] = 0.8 * attained["products"]
    assert likely_bounds(1e-6, work) == ("memory", "products")
    work["products", "products"] = 2 * attained["products"]
    assert likely_bounds(1e-6, work) == ("products", "")


def test_what_a_library_does_is_not_taken_for_a_generated_kernel() -> None:
    """A library's operator without products comes far less near to its bytes."""
    names = {
        "generated": LARGE,
        "products": PRODUCT,
        "convolutions": replace(PRODUCT, name="extern_kernels.convolution"),
        "other": replace(PRODUCT, name="torch.ops.aten.topk.default", operations=0),
    }
    assert {kind: work_kind(row) for kind, row in names.items()} == {k: k for k in names}
    attained = measured_costs().attained
    assert attained["other"] < attained["generated"]


def test_the_measured_costs_say_where_and_when() -> None:
    costs = measured_costs()
    assert all((costs.device, costs.cpu, costs.torch, costs.date))
    assert 0 < costs.kernel < costs.graph < costs.training < 1e-3
    assert set(costs.attained) == {"launches", "generated", "products", "convolutions", "other"}
    assert all(0 < share <= 1 for share in costs.attained.values())
    assert targets.find_by_device(costs.device)


@pytest.mark.parametrize(("rows", "known"), [((16, 16), True), ((16, 8), False)])
def test_bytes_are_not_known_if_a_graph_runs_with_several_sizes(
    rows: tuple[int, ...], known: bool
) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(torch.sin, dynamic=True)
    with tclab.capture() as seen:
        for number in rows:
            compiled(torch.randn(number, 24))
    seen.trace.add(names.CALLED, None, "", (None, None))
    (chain,) = seen.chains(machine_code=False)
    (row,) = rows_of_chains([chain])
    assert (row.launches, row.call_bytes) == (2, 2 * 2 * 16 * 24 * 4 if known else None)
    assert (chain.boundary is not None) is known
