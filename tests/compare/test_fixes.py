"""What a recompile's fix says, tried: with it the same calls are compiled once."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
import torch

from tclab.capturing import capture
from tclab.compare import fixes
from tclab.compare.identity import failed_guards
from tclab.model import Break, SourceLine

Call = tuple[Any, ...]


def reasons(fn: Callable[..., Any], calls: Iterable[Call], **options: Any) -> list[str]:
    """Return the guards that failed, as a report says them."""
    torch._dynamo.reset()
    compiled = torch.compile(fn, backend="eager", **options)
    with capture() as seen:
        for args in calls:
            compiled(*args)
    return [guard for item in seen.recompiles for guard in failed_guards(item)]


def fix(fn: Callable[..., Any], calls: Iterable[Call], **options: Any) -> str:
    """Return the fix of a function that is compiled again exactly once."""
    (guard,) = reasons(fn, calls, **options)
    return fixes.fix_guard(guard).text


def sine(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


def zeros(*sizes: int, **more: Any) -> torch.Tensor:
    return torch.zeros(*sizes, **more)


def marked(x: torch.Tensor) -> torch.Tensor:
    torch._dynamo.mark_dynamic(x, 0)
    return x


# --------------------------------------------------------------------------- tensors


def test_a_size() -> None:
    calls = [(zeros(size),) for size in (8, 12, 16)]
    said = fix(sine, calls)
    assert "dynamic=True" in said and "mark_dynamic(x, 0)" in said
    assert reasons(sine, calls, dynamic=True) == []
    assert reasons(sine, [(marked(zeros(size)),) for size in (8, 12, 16)]) == []


def test_a_size_behind_a_break() -> None:
    """What is marked is an argument: behind a break only dynamic=True helps."""

    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    calls = [(zeros(size),) for size in (8, 12)]
    texts = [fixes.fix_guard(guard).text for guard in reasons(broken, calls)]
    assert len(texts) == 2 and "Compile with dynamic=True" in texts[1]
    assert reasons(broken, calls, dynamic=True) == []


@pytest.mark.parametrize(
    ("word", "calls", "mended"),
    [
        ("reshape", [zeros(8), zeros(2, 4)], [zeros(8), zeros(2, 4).reshape(8)]),
        ("convert x", [zeros(8), zeros(8).double()], [zeros(8), zeros(8).double().float()]),
        ("x.detach()", [zeros(8), zeros(8, requires_grad=True)],
         [zeros(8), zeros(8, requires_grad=True).detach()]),
        ("x.contiguous()", [zeros(4, 6), zeros(6, 4).t()],
         [zeros(4, 6), zeros(6, 4).t().contiguous()]),
    ],
)  # fmt: skip
def test_what_else_a_tensor_is(
    word: str, calls: list[torch.Tensor], mended: list[torch.Tensor]
) -> None:
    assert word in fix(sine, [(x,) for x in calls])
    assert reasons(sine, [(x,) for x in mended]) == []


def test_sizes_that_were_equal_once() -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x + 1, y + 1

    calls = [(zeros(8), zeros(8)), (zeros(8), zeros(9))]
    assert "use_duck_shape = False" in fix(both, calls, dynamic=True)
    with torch.fx.experimental._config.patch(use_duck_shape=False):
        assert reasons(both, calls, dynamic=True) == []


def test_a_bound_on_a_size() -> None:
    def compared(x: torch.Tensor) -> torch.Tensor:
        return x.sin() if x.shape[0] > 10 else x.cos()

    calls = [(zeros(size),) for size in (8, 16, 9, 17)]
    assert "outside of the compiled function" in fix(compared, calls, dynamic=True)
    assert reasons(sine, calls, dynamic=True) == []


# --------------------------------------------------------------------------- values


class Layer(torch.nn.Module):
    step: Any = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x, 0.5, self.training) * self.step


def steps(layer: Layer, make: Callable[[int], Any]) -> Iterable[Call]:
    for number in (2, 3, 4):
        layer.step = make(number)
        yield (zeros(4),)


def test_a_number_that_a_module_has() -> None:
    layer = Layer()
    first, *_ = reasons(layer, steps(layer, int))
    assert "self.step is a Python number" in fixes.fix_guard(first).text
    assert "torch.tensor(2)" in fixes.fix_guard(first).text
    assert reasons(layer, steps(layer, torch.tensor)) == []


def test_a_number_that_is_passed() -> None:
    def scaled(x: torch.Tensor, by: Any) -> torch.Tensor:
        return x * by

    assert "by is a Python number" in fix(scaled, [(zeros(4), 3), (zeros(4), 5)])
    assert reasons(scaled, [(zeros(4), torch.tensor(n)) for n in (3, 5)]) == []


def test_training_and_not() -> None:
    layer = Layer()

    def turns() -> Iterable[Call]:
        for mode in (True, False, True, False):
            layer.train(mode)
            yield (zeros(4),)

    assert "Nothing to do" in fix(layer, turns())


def test_a_switch() -> None:
    def chosen(x: torch.Tensor, how: str) -> torch.Tensor:
        return x.sin() if how == "sin" else x.cos()

    calls = [(zeros(4), how) for how in ("sin", "cos", "sin", "cos")]
    assert "Each value of how is compiled once" in fix(chosen, calls)


def test_the_length_of_a_list() -> None:
    def total(xs: list[torch.Tensor]) -> torch.Tensor:
        out = xs[0]
        for x in xs[1:]:
            out = out + x
        return out

    assert "Each length of xs" in fix(total, [([zeros(4)] * n,) for n in (2, 3, 2)])
    assert reasons(total, [([zeros(4)] * 3,), ([zeros(4)] * 3,)]) == []


def test_a_list_that_the_function_changes() -> None:
    seen: list[int] = [0]

    def counting(x: torch.Tensor) -> torch.Tensor:
        seen.append(len(seen))
        return x.sin()

    several = reasons(counting, [(zeros(4),)] * 3)
    assert len(several) > 1 and {
        "after the call" in fixes.fix_guard(guard).text for guard in several
    } == {True}
    assert reasons(sine, [(zeros(4),)] * 3) == []


def test_a_key_that_comes_later() -> None:
    options: dict[str, float] = {}

    def shifted(x: torch.Tensor) -> torch.Tensor:
        return x + options["bias"] if "bias" in options else x.sin()

    def calls() -> Iterable[Call]:
        yield (zeros(4),)
        options["bias"] = 1.0
        yield (zeros(4),)

    assert "all its keys" in fix(shifted, calls())
    assert reasons(shifted, [(zeros(4),), (zeros(4),)]) == []


def test_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * float(os.environ.get("LOSS_SCALE", "1"))

    def calls(*values: str) -> Iterable[Call]:
        for value in values:
            monkeypatch.setenv("LOSS_SCALE", value)
            yield (zeros(2),)
        if len(values) == 1:
            monkeypatch.delenv("LOSS_SCALE")
            yield (zeros(2),)

    assert "environment variable LOSS_SCALE" in fix(scaled, calls("2", "3"))
    assert "LOSS_SCALE was set" in fix(scaled, calls("2"))


def test_modes_types_and_objects() -> None:
    def under() -> Iterable[Call]:
        yield (zeros(4),)
        with torch.no_grad():
            yield (zeros(4),)

    assert "Each grad_mode is compiled once" in fix(sine, under())

    def first(xs: Any) -> torch.Tensor:
        return xs[0] + 1

    assert "Each type of xs" in fix(first, [([zeros(4)],), ((zeros(4),),)])

    def through(x: torch.Tensor, act: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        return act(x)

    once = sine
    for act, other in ((once, lambda x: x), (torch.relu, torch.sin), (once, torch.sin)):
        assert "act is another object" in fix(through, [(zeros(4), act), (zeros(4), other)])
    assert reasons(through, [(zeros(4), once), (zeros(4), once)]) == []


def test_what_is_not_known_is_said_to_be() -> None:
    assert fixes.fix_guard("___something_new(x)") == fixes.NO_KNOWN_FIX


# --------------------------------------------------------------------------- hints on breaks


def first_hints(fn: Callable[..., Any], *args: Any) -> tuple[str, ...]:
    """Return the usable hints on the first break of a function."""
    torch._dynamo.reset()
    with capture() as seen:
        torch.compile(fn, backend="eager")(*args)
    return fixes.usable_hints(next(iter(seen.breaks)))


def halved(x: torch.Tensor) -> torch.Tensor:
    while (x > 1).any():
        x = x / 2
    return x


def test_a_while_has_no_hints_on_an_if() -> None:
    (hint,) = first_hints(halved, torch.full((2,), 8.0))
    assert "torch._higher_order_ops.while_loop" in hint
    step = torch._higher_order_ops.while_loop
    looped = torch.compile(
        lambda x: step(lambda y: (y > 1).any(), lambda y: (y / 2,), (x,))[0], fullgraph=True,
        backend="eager",
    )  # fmt: skip
    assert looped(torch.full((2,), 8.0)).tolist() == halved(torch.full((2,), 8.0)).tolist()


def test_hints_fit_the_line() -> None:
    def alone(x: torch.Tensor) -> torch.Tensor:
        if (x > 1).any():
            x = x + 1
        return x

    def joined(x: torch.Tensor) -> torch.Tensor:
        if (x > 1).any() or (x < 0).any():
            x = x + 1
        return x

    x = torch.ones(2)
    assert not any(hint.startswith("Note: Python `or`") for hint in first_hints(alone, x))
    assert any("torch.cond" in hint for hint in first_hints(alone, x))
    if torch.__version__ >= "2.13":
        assert any(hint.startswith("Note: Python `or`") for hint in first_hints(joined, x))


def test_a_hint_on_or_needs_results_that_it_joins() -> None:
    note = "Note: Python `or`/`and` between tensor expressions"
    code = "if traced or not torch.any(info):"
    item = Break("", hints=(note,), location=SourceLine("m.py", 1, code))
    assert fixes.usable_hints(item) == ()
    both = replace(item, location=SourceLine("m.py", 1, "if a.any() or b.any():"))
    assert fixes.usable_hints(both) == (note,)


def test_a_module_of_python_is_no_extension_to_wrap() -> None:
    def dumped(x: torch.Tensor) -> torch.Tensor:
        return x + len(pickle.dumps(3))

    assert first_hints(dumped, torch.ones(2)) == ()


def test_half_a_sentence_is_no_hint() -> None:
    for hint in first_hints(lambda x: x * x.sum().item(), torch.ones(2)):
        assert hint[0].isupper(), hint


def test_a_backward_is_called_outside() -> None:
    def step(x: torch.Tensor) -> None:
        (x * 2).sum().backward()

    *_, hint = first_hints(step, torch.ones(2, requires_grad=True))
    assert hint.startswith("Compile what computes the loss")


def test_hints_that_were_tried_stay_as_they_are() -> None:
    item = Break("", "GB0123", hints=("Compile what computes the loss. (Not tried.)",), tried=True)
    assert fixes.usable_hints(item) == item.hints
