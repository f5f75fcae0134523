"""Compiled results beside eager's: planted differences, and those of PyTorch 2.13."""

from __future__ import annotations

import copy
import dataclasses
import functools
import random
from collections import deque
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.planted import RoundSTE, features, push
from tclab.capturing.agreement import Comparison, repeats, stages
from tclab.capturing.agreement.judge import NO_REFERENCE, compare_observations
from tclab.model import DIFFERS, EQUAL, RANDOM, UNKNOWN, Agreement
from tests.capturing.agreement.planting import Calls, compared, planted


def first(agreement: Agreement) -> tuple[str, str, str, str]:
    each = agreement.differences[0]
    return each.where, each.what, each.eager, each.compiled


# --------------------------------------------------------------------------- what is compared


def test_the_same_function_is_equal_to_the_bit() -> None:
    found = planted(torch.sin, torch.sin, torch.ones(3))
    assert (found.verdict, found.ulps, str(found)) == (EQUAL, 0, "equal to eager, to the bit")


def _tagged(x: torch.Tensor) -> torch.Tensor:
    x.tag = x.me = x  # type: ignore[attr-defined]
    return x


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (lambda x: x.double(), ("output 0", "dtype", "float32", "float64")),
        (lambda x: x[:2].clone(), ("output 0", "shape", "(4, 4)", "(2, 4)")),
        (lambda x: x.t().clone(), ("output 0", "strides", "(4, 1)", "(1, 4)")),
        (lambda x: x, ("output 0", "aliasing", "storage of its own", "a view of the argument x")),
        (lambda x: [x.clone()], ("the result", "type", "Tensor", "list")),
        (lambda x: nn.Parameter(x.clone(), False), ("output 0", "type", "Tensor", "Parameter")),
        (lambda x: x.clone().fill_(torch.nan), ("output 0", "values", "1", "nan")),
        (lambda x: _tagged(x.clone()), ("output 0.tag", "existence", "not there", "there")),
    ],
)
def test_a_property_that_differs_is_named(
    other: Callable[..., Any], difference: tuple[str, str, str, str]
) -> None:
    def same(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    found = planted(same, other, torch.ones(4, 4))
    assert found.verdict == DIFFERS
    assert first(found) == difference


def test_an_argument_that_one_side_changes_is_named() -> None:
    def keeps(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    found = planted(keeps, lambda x: x.add_(1).clone(), torch.ones(4))
    assert [each.where for each in found.differences] == ["the argument x"]


@dataclasses.dataclass
class Output:
    loss: torch.Tensor


class Slotted:
    __slots__ = ("loss",)

    def __init__(self, loss: torch.Tensor) -> None:
        self.loss = loss


class Cache(dict[str, Any]):
    pass


def normal(x: torch.Tensor) -> torch.distributions.Normal:
    return torch.distributions.Normal(x, 1.0, validate_args=False)


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda x: (1, Output(x)), "output 1.loss"),
        (lambda x: [Slotted(x)], "output 0.loss"),
        (lambda x: Cache(a=[x]), "output 0['a'][0]"),
        (normal, "output 0.loc"),
        (lambda x: {float(x[0])}, "output 0[0]"),
        (lambda x: x.numpy(), "output 0 as a tensor"),
        (lambda x: range(int(x[0])), "output 0 as text"),
        (lambda x: deque([x]), "output 0"),
        (lambda x: torch.nested.nested_tensor([x, x[:2]]), "output 0[0]"),
        (lambda x: torch.diag(x).to_sparse(), "output 0"),
    ],
)
def test_what_is_in_a_result_is_compared(make: Callable[..., Any], where: str) -> None:
    found = planted(lambda x: make(x * 2), lambda x: make(x * 3), torch.ones(4))
    assert found.verdict == DIFFERS and found.differences[0].where == where, found
    same = planted(lambda x: make(x * 2), lambda x: make(x * 2), torch.ones(4))
    assert str(same) == "equal to eager, to the bit"


@pytest.mark.parametrize(
    ("fn", "other", "what"),
    [
        (lambda x: {"a": x + 1, "b": x}, lambda x: {"b": x + 1, "a": x}, "structure"),
        (lambda x: ((x + 1,), []), lambda x: ((x + 1,),), "structure"),
        (lambda x: x.diag().to_sparse(), lambda x: x.diag().to_sparse_csr(), "layout"),
        (lambda x: x[:2], lambda x: x[2:], "aliasing"),
    ],
)
def test_the_form_of_a_result_is_compared(
    fn: Callable[..., Any], other: Callable[..., Any], what: str
) -> None:
    found = planted(fn, other, torch.ones(4))
    assert found.verdict == DIFFERS and found.differences[0].what == what, found


class Private:
    __slots__ = ("__hidden",)

    def __init__(self, value: int) -> None:
        self.__hidden = value


class Tagged(list[Any]):
    def __init__(self, items: list[Any], tag: int) -> None:
        super().__init__(items)
        self.tag = tag


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (Private, "output 0._Private__hidden"),
        (lambda n: SimpleNamespace(n=n), "output 0.n"),
        (lambda n: Cache({"m" * 60 + ".q": n, "m" * 60 + ".k": 0}), f"output 0['{'m' * 60}.q']"),
        (lambda n: Output(Tagged([], n)), "output 0.loss.tag"),  # type: ignore[arg-type]
    ],
)
def test_no_part_of_an_object_is_left_out(make: Callable[..., Any], where: str) -> None:
    found = planted(lambda x: (make(1), x), lambda x: (make(2), x), torch.ones(4))
    assert found.verdict == DIFFERS and found.differences[0].where == where, found


@dataclasses.dataclass(slots=True)
class Slots:
    n: int = 0


def counted(x: torch.Tensor, seen: list[int] = []) -> torch.Tensor:  # noqa: B006
    seen.append(1)
    return x + 1


def counted_too(x: torch.Tensor, seen: list[int] = []) -> torch.Tensor:  # noqa: B006
    seen.append(1)
    return counted(x)


def count_one_twice(x: torch.Tensor) -> torch.Tensor:
    counted.__defaults__[0].append(1)  # type: ignore[index]
    return counted(x)


def test_functions_with_a_default_of_one_name_are_kept_apart() -> None:
    assert planted(counted_too, count_one_twice, torch.ones(4)).verdict == DIFFERS
    counted.__defaults__[0].clear()  # type: ignore[index]


@pytest.mark.parametrize(
    ("make", "change", "where"),
    [
        (lambda: np.ones(4), lambda s: s.__iadd__(1), "the argument s as a tensor"),
        (set, lambda s: s.add(1), "the argument s[0]"),
        (Slots, lambda s: setattr(s, "n", 1), "the argument s.n"),
        (lambda: SimpleNamespace(n=0), lambda s: setattr(s, "n", 1), "the argument s.n"),
        (lambda: nn.Dropout().train(), lambda s: s.eval(), "the argument s.training"),
        (lambda: torch.ones(2), lambda s: setattr(s, "step", 1), "the argument s.step"),
        (
            lambda: nn.Parameter(torch.ones(2)),
            lambda s: s.register_hook(torch.neg),
            "the argument s.(hooks)",
        ),
        (nn.ReLU, lambda s: s.register_forward_hook(print), "the argument s.(forward hooks)"),
        (list, lambda s: random.random(), "the next number of Python's random"),
        (
            torch.Generator,
            lambda s: torch.rand(3, generator=s),
            "the argument s as a tensor",
        ),
        (
            lambda: torch.optim.lr_scheduler.StepLR(
                torch.optim.SGD([nn.Parameter(torch.ones(1))]), 9
            ),
            lambda s: s.step(),
            "the argument s.last_epoch",
        ),
    ],
)
def test_state_that_one_side_changes_is_named(
    make: Callable[..., Any], change: Callable[..., Any], where: str
) -> None:
    def keeps(x: torch.Tensor, s: Any) -> torch.Tensor:
        return x + 1

    def changes(x: torch.Tensor, s: Any) -> torch.Tensor:
        change(s)
        return x + 1

    found = planted(keeps, changes, torch.ones(4), make())
    assert found.verdict == DIFFERS
    assert where in {each.where for each in found.differences}, found.differences


def test_sparse_indices_that_may_repeat_are_named() -> None:
    def sparse(x: torch.Tensor) -> torch.Tensor:
        return torch.sparse_coo_tensor(torch.tensor([[0, 1]]), x)

    found = planted(sparse, lambda x: sparse(x).coalesce(), torch.ones(2))
    assert first(found) == ("output 0", "layout", "sparse_coo", "sparse_coo, coalesced")


def test_what_a_right_compile_leaves_on_its_arguments_is_equal() -> None:
    def call(x: torch.Tensor, weight: torch.Tensor, net: nn.Module) -> torch.Tensor:
        x.step = getattr(x, "step", 0) + 1  # type: ignore[attr-defined]
        weight.register_hook(torch.neg)
        net.register_forward_hook(lambda *_: None)
        result = x * weight * random.random()
        result.tag = "made"  # type: ignore[attr-defined]
        return result

    weight = nn.Parameter(torch.ones(2))
    found = compared(call, (torch.ones(2), weight, nn.ReLU()), backward=True)
    assert str(found) == "equal to eager, to the bit"


def writes_and_raises(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    raise ValueError


def test_what_both_sides_wrote_before_they_raise_is_compared() -> None:
    def raises(x: torch.Tensor) -> torch.Tensor:
        raise ValueError

    found = planted(writes_and_raises, writes_and_raises, torch.ones(4))
    assert str(found) == "equal to eager, to the bit (both raise ValueError)"
    found = planted(writes_and_raises, raises, torch.ones(4))
    assert [each.where for each in found.differences] == ["the argument x"]
    with pytest.raises(ValueError):
        raises(torch.ones(4))


def test_results_before_the_call_that_raises_are_compared() -> None:
    def raises_on_zeros(x: torch.Tensor) -> torch.Tensor:
        if not x.any():
            raise ValueError
        return x * 2

    calls: Calls = [((torch.ones(4),), {}), ((torch.zeros(4),), {})]
    for factor, verdict in ((2, EQUAL), (3, DIFFERS)):
        comparison = Comparison.begin(raises_on_zeros, calls, False)
        assert isinstance(comparison, Comparison)
        comparison.add_result(torch.ones(4) * factor)
        comparison.observed.error = ValueError()
        comparison.compiled = lambda *_, seen=comparison.observed, **__: seen  # type: ignore[method-assign]
        comparison._first_operator = lambda _: None  # type: ignore[method-assign]
        assert comparison.agreement({}).verdict == verdict


def test_a_result_that_a_later_call_overwrites_is_named() -> None:
    static = torch.zeros(4)
    calls: Calls = [((torch.full((4,), n),), {}) for n in (1.0, 5.0)]
    comparison = Comparison.begin(lambda x: x * 2, calls, False)
    assert isinstance(comparison, Comparison)
    for args, _ in calls:
        comparison.add_result(torch.mul(*args, 2, out=static))
    comparison.compiled = lambda *_, **__: comparison.observed  # type: ignore[method-assign]
    comparison._first_operator = lambda _: None  # type: ignore[method-assign]
    found = comparison.agreement({})
    assert "output 0 of call 1 after the last call" in {each.where for each in found.differences}


def test_a_result_that_contains_itself_gives_no_verdict() -> None:
    def circle(x: torch.Tensor) -> list[Any]:
        result: list[Any] = [x]
        result.append(result)
        return result

    found = planted(circle, circle, torch.ones(4))
    assert str(found).startswith("not compared with eager: its result cannot be read: Recursion")


@functools.cache
def table(width: int) -> torch.Tensor:
    return torch.randn(width)


def test_a_cache_of_the_users_is_left_without_float64() -> None:
    found = planted(
        lambda x: torch.cos(x * table(4)), lambda x: torch.cos(x * table(4)) * 1.001, torch.ones(4)
    )
    assert found.verdict == DIFFERS
    assert table(4).dtype == torch.float32


def test_what_cannot_be_opened_is_not_said_to_be_equal() -> None:
    found = planted(lambda x: iter([x]), lambda x: iter([x]), torch.ones(4))
    assert str(found).startswith("not compared with eager: output 0 is a list_iterator")
    found = planted(lambda x: (x + 1, iter([x])), lambda x: (x + 1, iter([x])), torch.ones(4))
    assert found.verdict == EQUAL and "output 1 is a list_iterator, whose content" in found.reason


def test_a_tensor_without_values_is_not_said_to_be_equal() -> None:
    def shapes(x: torch.Tensor) -> torch.Tensor:
        return x.to("meta") * 2

    found = planted(shapes, shapes, torch.ones(4))
    assert str(found).startswith("not compared with eager: output 0 is a Tensor, whose content")


def test_the_backward_of_a_result_in_a_data_class_is_compared() -> None:
    x = torch.ones(4, requires_grad=True)
    found = compared(lambda x: Output((x * x).sum()), (x,), backward=True)
    assert found.verdict == EQUAL


def test_a_buffer_that_stays_as_it_was_is_named() -> None:
    norm = nn.BatchNorm1d(4, momentum=0.5)
    stale = copy.deepcopy(norm)

    def forgets(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = stale(x)
        norm.num_batches_tracked += 1
        return result

    found = planted(norm, forgets, torch.randn(8, 4))
    assert [each.where for each in found.differences] == ["running_mean", "running_var"]


def test_rows_are_counted() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def wrong(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y[1:] = 0
        return y

    found = planted(double, wrong, torch.ones(8, 4))
    assert str(found.differences[0]) == "output 0, 7 of 8 rows"


# --------------------------------------------------------------------------- no false alarm


class Net(nn.Module):
    """State of every kind: a buffer, an attribute that a call makes, dropout, tied weights."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.last = nn.BatchNorm1d(8), None
        self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)
        self.two.weight = self.one.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.two(torch.relu(self.one(self.norm(x))))
        self.last = y.detach()
        return nn.functional.dropout(y, 0.5)


def test_a_module_with_state_and_gradients_is_equal_call_by_call() -> None:
    calls = [(torch.randn(16, 8, requires_grad=True),) for _ in range(2)]
    found = compared(Net(), *calls, backward=True, backend="aot_eager")
    assert found.verdict == EQUAL, found


def test_random_numbers_that_inductor_draws_otherwise_are_compared_with_those_of_eager() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand_like(x)

    found = compared(noisy, (torch.ones(64),), backend="inductor")
    assert found.verdict == EQUAL
    assert "fallback_random" in found.reason


def test_numbers_of_python_that_dynamo_computes_in_float32_are_rounding() -> None:
    """1 - 0.999**step loses four digits in float32, where Python computes in float64."""

    def corrected(x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        number = step if torch.compiler.is_compiling() else float(step)
        return x / (1 - 0.999**number)

    found = compared(corrected, (torch.full((4,), 1 / 3), torch.tensor(1.0)))
    assert found.verdict == EQUAL and "float32" in found.reason


def test_a_number_that_dynamo_leaves_out_is_no_rounding() -> None:
    """It is smaller than what rounding may do to a number of Python."""

    def offset(x: torch.Tensor) -> torch.Tensor:
        y = x.softmax(0)
        return y if torch.compiler.is_compiling() else y + 1e-6

    found = compared(offset, (torch.arange(8.0),))
    assert (found.verdict, found.stage) == (DIFFERS, "Dynamo"), found


def test_a_function_that_refuses_float64_is_judged_by_its_largest_value_and_says_so() -> None:
    def only_float32(x: torch.Tensor) -> torch.Tensor:
        assert x.dtype is torch.float32
        return x * 3

    x = torch.tensor([1.0, 1000.0])
    found = planted(only_float32, lambda x: x * 3 + 1e-5, x)
    assert found.verdict == EQUAL and "it does not run in float64" in found.reason
    assert "float64" not in planted(lambda x: x * 3, lambda x: x * 3 * (1 + 1e-6), x).reason
    assert planted(only_float32, lambda x: x * 3 + 1, x).verdict == DIFFERS


def test_a_function_that_is_too_slow_in_float64_gets_no_verdict_on_its_rounding(monkeypatch):
    monkeypatch.setattr(repeats, "SECONDS_IN_FLOAT64", -1.0)
    x = torch.tensor([1.0, 1000.0])
    near = planted(lambda x: x * 3, lambda x: x * 3 + 1e-5, x)
    assert near.verdict == EQUAL and "float64 take more than 60 seconds" in near.reason
    far = planted(lambda x: x * 3, lambda x: x * 3 + 1, x)
    assert far.verdict == UNKNOWN and "output 0 differs by more than 256 units" in far.reason
    assert "not known whether that is rounding: its calls in float64 take" in far.reason
    assert planted(lambda x: x * 3, lambda x: x[:1] * 3, x).verdict == DIFFERS


def test_what_two_eager_runs_do_not_agree_on_is_random() -> None:
    def unsteady(x: torch.Tensor) -> torch.Tensor:
        return x * random.SystemRandom().random()

    assert compared(unsteady, (torch.ones(3),)).verdict == RANDOM


def test_memory_that_nothing_has_written_is_not_comparable() -> None:
    def unwritten(x: torch.Tensor) -> torch.Tensor:
        fresh = torch.empty(2**23)  # so large that its memory is new, and 0, in each run
        return fresh[: len(x)].clone()

    def of_sevens(x: torch.Tensor) -> torch.Tensor:
        return torch.full_like(x, 7)

    assert planted(unwritten, of_sevens, torch.ones(3)).verdict == RANDOM
    assert not torch.are_deterministic_algorithms_enabled()


def test_an_unwritten_bool_differs_in_two_eager_runs() -> None:
    calls = [((torch.ones(3),), {})]
    started = Comparison.begin(lambda x: x.new_empty((), dtype=torch.bool), calls, False)
    assert isinstance(started, Comparison)
    cleared, filled = started.eager_twice()
    assert compare_observations(cleared, filled, NO_REFERENCE).differences


def test_another_shape_differs_though_its_values_are_unwritten_memory() -> None:
    def empty(x: torch.Tensor) -> torch.Tensor:
        return torch.empty(x.shape)

    x = torch.ones(1, 40)
    assert planted(empty, lambda x: torch.full_like(x, 7), x).verdict == RANDOM
    found = planted(empty, lambda x: torch.tensor(x.shape).float(), x)
    assert (found.verdict, first(found)) == (
        DIFFERS,
        ("output 0", "shape", "(1, 40)", "(2,)"),
    )


def test_a_dropout_of_other_elements_differs() -> None:
    def dropped(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x, 0.5, training=True)

    def every_second(x: torch.Tensor) -> torch.Tensor:
        return x * torch.arange(len(x)).fmod(2) * 2

    assert planted(dropped, every_second, torch.ones(64)).verdict == DIFFERS


def test_python_random_numbers_are_the_same_again() -> None:
    def drawn(x: torch.Tensor) -> torch.Tensor:
        return x * random.random()

    assert planted(drawn, drawn, torch.ones(3)).verdict == EQUAL


def test_a_default_that_the_function_changes_is_state() -> None:
    def counts(x: torch.Tensor, seen: list[int] = [], *, named: list[int] = []) -> torch.Tensor:  # noqa: B006
        seen.append(1)
        named.append(1)
        return x * len(seen) * len(named)

    assert compared(counts, (torch.ones(3),), backend="eager").verdict == EQUAL
    assert counts(torch.ones(1)).item() == 4  # the calls of the comparison left it as it was


def test_a_function_may_return_the_default_itself() -> None:
    def kept(x: torch.Tensor = torch.ones(3)) -> torch.Tensor:  # noqa: B008
        return x

    found = planted(kept, lambda: kept().clone())
    assert first(found) == (
        "output 0",
        "aliasing",
        "a view of the variable x",
        "storage of its own",
    )


def test_a_number_of_python_from_a_sum_in_another_order_is_rounding() -> None:
    def total(x: torch.Tensor) -> tuple[torch.Tensor, float]:
        return x, x.sum().item()

    def otherwise(x: torch.Tensor) -> tuple[torch.Tensor, float]:
        return x, x.sum().item() * (1 + 1e-5)

    def wrong(x: torch.Tensor) -> tuple[torch.Tensor, float]:
        return x, x.sum().item() + 100

    x = torch.cat([torch.full((1,), 3e4), torch.linspace(-3e4, 3e4, 4097)])
    assert planted(total, otherwise, x).verdict == EQUAL
    assert planted(total, wrong, x).verdict == DIFFERS


def test_a_sum_into_places_may_have_another_order() -> None:
    def added(values: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return torch.zeros(2).index_put((at,), values, accumulate=True)

    def from_the_end(values: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return added(values.flip(0), at.flip(0))

    values, at = torch.tensor([1e8, -1e8, 1.2345]), torch.zeros(3, dtype=torch.long)
    assert planted(added, from_the_end, values, at).verdict == EQUAL


def test_half_precision_on_the_way_to_float32_is_rounding() -> None:
    """Inductor keeps more digits between two operators than eager's bfloat16 does."""

    def mixed(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        y = ((x * 1.7).bfloat16() @ weight).tanh() - x.bfloat16()
        return torch.nn.functional.layer_norm(y.float(), (16,)) * x

    x, weight = torch.randn(8, 16), torch.randn(16, 16).bfloat16()
    found = compared(mixed, (x, weight), backend="inductor")
    assert found.verdict == EQUAL and found.ulps > 1000, found


@pytest.mark.parametrize("factor", [1.7, 1e6])
def test_the_smallest_numbers_of_float16_are_steps_apart(factor: float) -> None:
    """Inductor keeps between two operators what float16 has no number for; a lost factor stays."""

    def small(x: torch.Tensor) -> torch.Tensor:
        return (x * 1e-4 * 1e-3).float() * factor

    x = torch.randn(64).half()
    found = compared(small, (x,), backend="inductor")
    assert found.verdict == EQUAL and found.ulps > 1000, found
    assert planted(small, lambda x: small(x) + 1e-5 * factor, x).verdict == DIFFERS


def test_a_type_that_the_code_reads_from_a_tensor_is_rounded_to() -> None:
    """In float64 there is nothing to convert, and the code says float64."""

    def narrowed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        half = y.to(x.dtype) + torch.full_like(y, 0.3, dtype=x.dtype)
        return half.to(y.dtype) * 3

    x, y = torch.randn(8, 16).bfloat16(), torch.randn(8, 16)
    found = planted(narrowed, lambda x, y: (y + 0.3) * 3, x, y)
    assert found.verdict == EQUAL, found


def test_the_tail_of_a_gelu_that_cancels_once_it_is_taken_apart_is_rounding() -> None:
    def gelu(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(x)

    x = torch.linspace(-5, 5, 4096)
    found = compared(gelu, (x,), backend="aot_eager_decomp_partition")
    assert found.verdict == EQUAL, found
    assert found.ulps > 1000
    assert found.relative is not None  # float64 was the judge
    assert found.relative < 1e-6


# --------------------------------------------------------------------------- true differences


def test_rows_shifted_in_place_differ_in_inductor_at_the_copy() -> None:
    """pytorch#197829."""
    history = torch.arange(8.0).unsqueeze(1).repeat(1, 64).contiguous()
    found = compared(push, (history,), backend="inductor")
    assert (found.verdict, found.stage) == (DIFFERS, "Inductor")
    assert found.operator == "aten.copy_.default"
    assert found.line is not None
    assert found.line.line == push.__code__.co_firstlineno + 1
    assert "aot_eager" in found.way


def test_a_float32_product_that_is_computed_in_bfloat16_differs() -> None:
    """Its arguments are of bfloat16, but no operator of the function rounds to it."""

    def scaled(x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True))

    def cast_moved(x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        return (x * torch.rsqrt(y.pow(2).mean(-1, keepdim=True)).bfloat16()).float()

    found = planted(scaled, cast_moved, torch.randn(8, 64).bfloat16())
    assert found.verdict == DIFFERS, found


def test_a_row_without_numbers_differs_from_a_row_that_is_wholly_masked() -> None:
    """Noise in the least number of a type explains no NaN and no other share of the row."""
    least = torch.finfo(torch.float32).min
    mask = torch.tensor([[True], [False]])

    def weights(scores: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, scores * 0.125, least).softmax(-1)

    def masked_by_infinity(scores: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, scores * 0.125, -torch.inf).softmax(-1)

    def masked_by_itself(scores: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, scores * 0.125, least - scores * 1e36).softmax(-1)

    for other in (masked_by_infinity, masked_by_itself):
        found = planted(weights, other, torch.randn(2, 8))
        assert str(found.differences[0]) == "output 0, 1 of 2 rows"


def test_a_nan_that_rounding_explains_is_said_all_the_same() -> None:
    def root(x: torch.Tensor) -> torch.Tensor:
        y = x * 3
        return (y * y - (x * 3) * y).sqrt()

    found = planted(root, lambda x: root(x).where(x > 0, torch.nan), torch.randn(64))
    assert found.verdict == DIFFERS


def test_a_nan_that_float64_has_too_is_said() -> None:
    def root(x: torch.Tensor, y: torch.Tensor, product: torch.Tensor) -> torch.Tensor:
        return (x * y - product).sqrt()

    def rounded_once(*wide: torch.Tensor) -> torch.Tensor:
        return root(*(each.double() for each in wide)).float()

    x, y = torch.linspace(1, 2, 64), torch.linspace(2, 3, 64)
    found = planted(root, rounded_once, x, y, x * y)
    assert found.verdict == EQUAL
    nans = int(rounded_once(x, y, x * y).isnan().sum())
    assert nans and f"{nans} of 64 elements of output 0 are NaN, as in float64" in str(found)


@torch.library.custom_op("tclab_tests::doubled_sum", mutates_args=())
def doubled_sum(values: torch.Tensor) -> torch.Tensor:
    values.mul_(2)
    return values.sum(-1)


@doubled_sum.register_fake
def _(values: torch.Tensor) -> torch.Tensor:
    return values.new_empty(values.shape[:-1])


def test_an_operator_that_writes_and_does_not_declare_it_is_named() -> None:
    def normed(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        z = y * 3
        return y / doubled_sum(y)[:, None] + z

    found = compared(normed, (torch.rand(8, 16),), backend="inductor")
    assert (found.verdict, found.operator) == (DIFFERS, "tclab_tests.doubled_sum")
    assert found.line is not None
    assert found.line.line == normed.__code__.co_firstlineno + 3
    assert "writes to its argument values, which it does not declare" in str(found)
    assert found.next_step == "declare it: mutates_args=('values',) (not tried)"


def loss(x: torch.Tensor) -> torch.Tensor:
    return RoundSTE.apply(x).sum()


def gradient(x: torch.Tensor) -> torch.Tensor:
    return torch.func.grad(loss)(x)


def test_a_custom_backward_that_is_left_out_differs_in_dynamo() -> None:
    """pytorch#193279."""
    found = compared(gradient, (torch.tensor([0.2, 0.7, 1.4, -2.6]),))
    assert (found.verdict, found.stage) == (DIFFERS, "Dynamo")
    assert first(found) == ("output 0", "values", "1", "0")
    assert torch.func.grad(loss)(torch.ones(1)).item() == 1.0  # no transform is left open


def test_numbers_that_eager_draws_once_and_compiled_code_in_every_call() -> None:
    """pytorch#146598."""
    x = torch.ones(2, 8)
    found = compared(features, (x,), (x,))
    assert (found.verdict, found.stage, found.operator) == (DIFFERS, "Dynamo", "randn")
    assert found.differences[0].where == "output 0 of call 2"
    assert found.line is not None
    assert found.line.function == "projection"


def test_the_operator_on_which_inductor_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import lowering

    def refuse(*_: object) -> None:
        raise ValueError("refused")

    def f(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return torch.lgamma(y) * 2

    monkeypatch.setitem(lowering.lowerings, torch.ops.aten.lgamma.default, refuse)
    started = Comparison.begin(f, [((torch.ones(4),), {})], backward=False)
    assert isinstance(started, Comparison)
    found = started.raising_operator()
    assert found is not None and found.line is not None
    assert (found.name, found.line.function) == ("aten.lgamma.default", "f")


def test_weights_that_are_frozen_into_the_code() -> None:
    def differs(options: Mapping[str, Any]) -> bool:
        return options.get("backend") in (None, "inductor") and "options" not in options

    with torch._inductor.config.patch(freezing=True):
        assert "freezing" in stages.explain_difference([], differs, lambda _: None).way
    assert "max_fusion_size" in stages.explain_difference([], differs, lambda _: None).way
