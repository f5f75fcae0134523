"""Lab 3: fix functions that break or recompile, without changing their results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tclab.site.labs.exercise import Answer, Exercise, RandomInputs
from tclab.site.labs.exercises.compiled import assert_compiled_once, assert_same, assert_whole

if TYPE_CHECKING:
    from torch import Tensor

    from tclab import Capture


# --------------------------------------------------------------------------- clip_norm

clip_norm = Exercise("clip_norm", "A branch on a tensor's value")


def _clip(x: Any, limit: float) -> Any:
    norm = x.norm().item()
    return x * (limit / norm) if norm > limit else x


@clip_norm.step(
    "large",
    "scales what is longer than the limit",
    "Take x of norm 5 and limit 1: what is the norm of the result?",
    "Where the norm is above the limit, multiply by limit / norm.",
)
def scales_long_vectors(answer: Answer, random_inputs: RandomInputs) -> None:
    x = random_inputs.tensor(8, 8) * 10
    assert_same(answer(x, 1.5), _clip(x, 1.5), "for a norm above the limit")


@clip_norm.step(
    "small",
    "leaves the rest as it is",
    "What does the original do with an x that is short enough?",
    "Both outcomes must be in the graph: torch.where(condition, a, b), or a factor clamped at 1.",
)
def keeps_short_vectors(answer: Answer, random_inputs: RandomInputs) -> None:
    x = random_inputs.tensor(8, 8) * 0.01
    assert_same(answer(x, 1.5), x, "for a norm below the limit")


@clip_norm.step(
    "break",
    "is one graph, without a break",
    "Does the line of the break need a tensor's value before it can go on, or is the compiler told "
    "to leave the function out? (tclab.show(capture.breaks))",
    "`.item()`, bool() and `if tensor:` stop the trace, and so does torch.compiler.disable. Keep "
    "the norm a tensor, and choose with torch.where, or clamp the factor.",
)
def clips_in_one_graph(answer: Answer, random_inputs: RandomInputs) -> None:
    assert_whole(
        answer, [(random_inputs.tensor(8, 8) * 10, 1.5), (random_inputs.tensor(8, 8) * 0.01, 1.5)]
    )


@clip_norm.step(
    "recompiles",
    "is compiled once for many values",
    "Which guard fails from one x to the next?",
    "No Python number may come out of x: what is a tensor is never guarded by value.",
)
def clips_many_values_in_one_compile(answer: Answer, random_inputs: RandomInputs) -> None:
    assert_compiled_once(
        answer, [(random_inputs.tensor(8, 8) * scale, 1.5) for scale in (0.01, 0.1, 1.0, 10.0)]
    )


# --------------------------------------------------------------------------- WarmUp

warm_up = Exercise("WarmUp", "A counter in a module")

_CALLS = 12


def _linear(random_inputs: RandomInputs) -> Any:
    import torch

    linear = torch.nn.Linear(8, 8)
    with torch.no_grad():
        linear.weight.copy_(random_inputs.tensor(8, 8))
        linear.bias.copy_(random_inputs.tensor(8))
    return linear


def _check_results(answer: Answer, random_inputs: RandomInputs, calls: int) -> None:
    linear, x = _linear(random_inputs), random_inputs.tensor(4, 8)
    module = answer(linear)
    for call in range(1, calls + 1):
        true = linear(x).detach() * min(1.0, call / 10)
        assert_same(module(x).detach(), true, f"at call {call}")


@warm_up.step(
    "first",
    "gives a tenth at the first call",
    "What is `steps` when the factor is computed for the first time?",
    "The counter goes up first: at the first call the factor is 1/10.",
)
def begins_with_a_tenth(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_results(answer, random_inputs, 1)


@warm_up.step(
    "counts",
    "goes on counting, and stops at 1",
    "What does the third call return, what the twelfth?",
    "The factor is steps / 10, and 1 from the tenth call on.",
)
def factor_stops_at_one(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_results(answer, random_inputs, _CALLS)


@warm_up.step(
    "break",
    "is one graph, without a break",
    "Does the line of the break make a Python number of a tensor, or is the compiler told to leave "
    "the method out? (tclab.show(capture.breaks))",
    "No .item(), no float(tensor), no torch.compiler.disable: (steps / 10).clamp(max=1).",
)
def warms_up_in_one_graph(answer: Answer, random_inputs: RandomInputs) -> None:
    assert_whole(answer(_linear(random_inputs)), [(random_inputs.tensor(4, 8),)] * 3)


@warm_up.step(
    "recompiles",
    "is compiled once for twelve calls",
    "Look at the recompiles: which attribute is guarded, and by what?",
    "An int or float of a module is guarded by its value. Count in a tensor: "
    "self.register_buffer('steps', torch.zeros(())) and self.steps += 1.",
)
def warms_up_in_one_compile(answer: Answer, random_inputs: RandomInputs) -> None:
    assert_compiled_once(answer(_linear(random_inputs)), [(random_inputs.tensor(4, 8),)] * _CALLS)


@warm_up.step(
    "kept",
    "goes on counting where a checkpoint ended",
    "What is in module.state_dict() after three calls, and what of it does another module load?",
    "A tensor that is a plain attribute is in no state_dict, and .to(device) leaves it behind: "
    "self.register_buffer('steps', torch.zeros(())).",
)
def goes_on_from_a_checkpoint(answer: Answer, random_inputs: RandomInputs) -> None:
    linear, x = _linear(random_inputs), random_inputs.tensor(4, 8)
    module, loaded = answer(linear), answer(linear)
    for _ in range(3):
        module(x)
    loaded.load_state_dict(module.state_dict())
    true = linear(x).detach() * 0.4
    assert_same(loaded(x).detach(), true, "at the call after three, from their state_dict,")


# --------------------------------------------------------------------------- mean_of_first

mean_of_first = Exercise("mean_of_first", "A loop over lengths")


def _means(x: Any, lengths: Any) -> Any:
    import torch

    return torch.stack([row[:n].mean(0) for row, n in zip(x, lengths.tolist())])


def _batch(random_inputs: RandomInputs, *lengths: int) -> tuple[Any, Any]:
    import torch

    return random_inputs.tensor(len(lengths), 7, 3), torch.tensor(lengths)


@mean_of_first.step(
    "full",
    "is the plain mean where every row is full",
    "What is the result where all lengths are the longest?",
    "[batch, time, features] in, [batch, features] out: reduce dimension 1.",
)
def takes_the_mean_of_full_rows(answer: Answer, random_inputs: RandomInputs) -> None:
    x, lengths = _batch(random_inputs, 7, 7, 7)
    assert_same(answer(x, lengths), _means(x, lengths), "for full rows")


@mean_of_first.step(
    "padding",
    "leaves out what lies beyond a row's length",
    "A row of length 3: which of its 7 entries may count?",
    "Make a mask: torch.arange(time) < lengths[:, None]. At length 3 the indices 0, 1 and 2 count.",
)
def leaves_padding_out(answer: Answer, random_inputs: RandomInputs) -> None:
    x, lengths = _batch(random_inputs, 7, 7, 7)
    padded = x.clone()
    lengths[1] = 3
    padded[1, 3:] = 1000.0
    result, true = answer(padded, lengths), _means(x, lengths)
    beyond = result.abs().max() > 20
    assert not beyond, "what lies beyond the length is in the mean"
    assert_same(result[:1], true[:1], "beside a short row")


@mean_of_first.step(
    "divisor",
    "divides by the row's own length",
    "You sum 3 entries: what do you divide by?",
    "Divide by lengths[:, None], not by the number of columns.",
)
def divides_by_each_length(answer: Answer, random_inputs: RandomInputs) -> None:
    x, lengths = _batch(random_inputs, 3, random_inputs.integer(1, 2), 7, 5)
    assert_same(answer(x, lengths), _means(x, lengths), "for rows of several lengths")


@mean_of_first.step(
    "anything",
    "leaves out padding of inf and NaN, too",
    "What is 0 * inf? What is 0 * nan?",
    "Padding that is multiplied by 0 is still there where it is inf or NaN. Choose instead: "
    "torch.where(mask, x, 0), or x.masked_fill(~mask, 0).",
)
def leaves_any_padding_out(answer: Answer, random_inputs: RandomInputs) -> None:
    x, lengths = _batch(random_inputs, 3, 7, 5)
    x[0, 3:], x[2, 5:] = math.inf, math.nan
    assert_same(answer(x, lengths), _means(x, lengths), "where padding is inf or NaN")


@mean_of_first.step(
    "break",
    "is one graph, without a break",
    "Does the line of the break make Python numbers of the lengths, or is the compiler told to "
    "leave the function out?",
    "tolist() and int(n) need the values, and torch.compiler.disable ends the graph. A mask needs "
    "neither.",
)
def takes_means_in_one_graph(answer: Answer, random_inputs: RandomInputs) -> None:
    assert_whole(answer, [_batch(random_inputs, 3, 7, 5)])


@mean_of_first.step(
    "recompiles",
    "is compiled once for all lengths",
    "What changes from batch to batch, and is it a tensor in your function?",
    "As long as lengths stay a tensor no guard looks at them.",
)
def takes_all_lengths_in_one_compile(answer: Answer, random_inputs: RandomInputs) -> None:
    assert_compiled_once(
        answer,
        [
            _batch(random_inputs, 3, 7, 5),
            _batch(random_inputs, 1, 2, 6),
            _batch(random_inputs, 4, 4, 4),
        ],
    )


# --------------------------------------------------------------------------- for_any_batch

for_any_batch = Exercise("for_any_batch", "One compile for every batch size")


Result = tuple["Tensor", "Tensor", str]


def _serve(
    answer: Answer, sizes: Sequence[int], random_inputs: RandomInputs
) -> tuple[Capture, list[Result]]:
    """Serve batches of these sizes; return the capture, and (result, true result, call) of each
    batch.
    """
    import torch

    import tclab

    def model(x: Any) -> Any:
        return torch.relu(x).sum(-1) / x.shape[0]

    torch.compiler.reset()
    results = []
    with tclab.capture() as capture:
        serve = answer(model)
        for size in sizes:
            x = random_inputs.tensor(size, 6)
            results.append((serve(x), model(x), f"for {size} rows"))
    return capture, results


@for_any_batch.step(
    "result",
    "gives the model's own results",
    "What does your function return, and what does that return when it is called?",
    "Return a callable that takes x and gives what model(x) gives.",
)
def gives_the_models_results(answer: Answer, random_inputs: RandomInputs) -> None:
    for result, true, call in _serve(answer, [5, 9], random_inputs)[1]:
        assert_same(result, true, call)


@for_any_batch.step(
    "compiled",
    "compiles",
    "Is there a graph at all?",
    "Use torch.compile; backend='eager' is enough here.",
)
def compiles_at_all(answer: Answer, random_inputs: RandomInputs) -> None:
    assert len(_serve(answer, [5, 9], random_inputs)[0].graphs) > 0, "nothing was compiled"


@for_any_batch.step(
    "each-size",
    "does not compile for each size",
    "How many graphs do the sizes 5, 9, 12 and 30 make? And with dynamic=False?",
    "With dynamic=False every size is a constant, and each new one recompiles.",
)
def does_not_compile_each_size(answer: Answer, random_inputs: RandomInputs) -> None:
    graphs = len(_serve(answer, [5, 9, 12, 30], random_inputs)[0].graphs)
    assert graphs <= 2, f"four sizes made {graphs} graphs"


@for_any_batch.step(
    "second-size",
    "does not compile again at the second size",
    "By default the first size is taken for a constant. How do you say beforehand that it varies?",
    "torch.compile(model, dynamic=True), or torch._dynamo.mark_dynamic(x, 0) before the first "
    "call.",
)
def does_not_compile_again(answer: Answer, random_inputs: RandomInputs) -> None:
    sizes = random_inputs.random.sample(range(3, 90), 4)
    graphs = len(_serve(answer, sizes, random_inputs)[0].graphs)
    assert graphs == 1, f"the sizes {sizes} made {graphs} graphs"


EXERCISES = [clip_norm, warm_up, mean_of_first, for_any_batch]
