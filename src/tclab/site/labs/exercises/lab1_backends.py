"""Lab 1: compare results, time the first call, and name the stages of a backend."""

from __future__ import annotations

import statistics
from typing import Any

from tclab.model import Table
from tclab.site.labs.exercise import Answer, Exercise, RandomInputs
from tclab.site.labs.exercises.sleeping_call import SleepingCall

# --------------------------------------------------------------------------- close_enough

close_enough = Exercise("close_enough", "Equal, as far as floats allow")


@close_enough.step(
    "same",
    "says True for a result and its copy",
    "What does your function return for two equal tensors? It must be True or False.",
    "It must return a plain bool: `bool(...)` of a tensor with one element, or torch.allclose.",
)
def accepts_a_copy(answer: Answer, random_inputs: RandomInputs) -> None:
    x = random_inputs.tensor(32, 32)
    result = answer(x, x.clone())
    assert bool(result) is True, f"it said {result!r} of a tensor and its copy"


@close_enough.step(
    "rounding",
    "accepts two orders of the same sum",
    "Does your function allow any difference at all? Adding in another order rounds elsewhere.",
    "float32 keeps 24 bits: a relative difference of 1e-6 is rounding. Compare with a tolerance.",
)
def accepts_another_order(answer: Answer, random_inputs: RandomInputs) -> None:
    x = random_inputs.tensor(64, 512)
    same, other = x.double().softmax(-1).float(), x.softmax(-1)
    assert not same.equal(other)
    assert answer(other, same), "it refused a softmax that differs in the last bits"


@close_enough.step(
    "near-zero",
    "accepts rounding where the result is near zero",
    "What is allowed where the expected value is 0.00001, and its neighbours are about 1?",
    "Relative to a value near zero nothing is small. Allow an absolute difference, too, of the "
    "size that rounding has at the tensor's own scale (atol).",
)
def accepts_rounding_near_zero(answer: Answer, random_inputs: RandomInputs) -> None:
    import torch

    x = random_inputs.tensor(128, 256)
    exact = (x.double() - x.double().mean(-1, keepdim=True)).float()
    rounded = exact + 2e-7 * random_inputs.tensor(128, 256).clamp(-2, 2)
    exact[:, 0] = 0.0  # the hardest case, because a relative tolerance allows no error at zero
    result = torch.where(exact == 0, 3e-7, rounded)
    text = "it refused a difference of 3e-7 beside values of about 1"
    assert answer(result, exact), text


@close_enough.step(
    "scale",
    "allows the same rounding at another scale",
    "Multiply both tensors by 10,000: does the answer change? Should it?",
    "An absolute tolerance alone is for one scale. Make it grow with the values (rtol).",
)
def accepts_another_scale(answer: Answer, random_inputs: RandomInputs) -> None:
    x = random_inputs.tensor(64, 512)
    same, other = x.double().softmax(-1).float() * 1e6, x.softmax(-1) * 1e6
    assert answer(other, same), "it refused, times 1,000,000, what it took before"


@close_enough.step(
    "bfloat16",
    "allows bfloat16 its own rounding",
    "How many bits does bfloat16 keep? Which difference is one step there?",
    "bfloat16 keeps 8 bits: neighbours differ by 0.4 to 0.8 %. Choose the tolerance by the dtype, "
    "from torch.finfo(dtype).eps or as torch.testing.assert_close does.",
)
def accepts_bfloat16_neighbours(answer: Answer, random_inputs: RandomInputs) -> None:
    import torch

    x = random_inputs.tensor(64, 64, dtype=torch.bfloat16)
    step = (x.float() * (1 + 2**-8)).to(torch.bfloat16)
    assert answer(step, x), "it refused bfloat16 numbers that are neighbours"


@close_enough.step(
    "cancels",
    "refuses errors that cancel in the mean",
    "One element too large, another too small: what is the mean of the differences?",
    "Look at the largest absolute difference, or at each element; never at a signed mean or sum.",
)
def refuses_errors_that_cancel(answer: Answer, random_inputs: RandomInputs) -> None:
    x = random_inputs.tensor(64, 64)
    shift = 0.1 * random_inputs.tensor(64, 32)
    import torch

    wrong = x + torch.cat([shift, -shift], 1)
    assert not answer(wrong, x), "it accepted errors of 10 % that add up to zero"


@close_enough.step(
    "too-loose",
    "refuses one element that is 3 % off",
    "Which wrong result would your function still accept?",
    "A float32 result that is 3 % off is wrong: tolerances of 1e-3 and more hide mistakes. In "
    "bfloat16 3 % are four steps: allow two.",
)
def refuses_one_wrong_element(answer: Answer, random_inputs: RandomInputs) -> None:
    import torch

    for dtype in (torch.float32, torch.bfloat16):
        x = random_inputs.tensor(64, 64, dtype=dtype)
        text = f"it accepted a tensor of {dtype} with one element 3 % off"
        assert not answer(_with_one_wrong_element(x), x), text


def _with_one_wrong_element(x: Any) -> Any:
    """Return a copy of `x` whose largest element is 3 % too large."""
    wrong = x.clone()
    wrong.view(-1)[x.abs().argmax()] *= 1.03
    return wrong


@close_enough.step(
    "small",
    "refuses it among small values, too",
    "All values are about 0.000001: which of your two tolerances decides there?",
    "A fixed atol accepts anything that is smaller than itself. Let it grow with the tensor's own "
    "scale: a small part of expected.abs().max().",
)
def refuses_a_wrong_small_element(answer: Answer, random_inputs: RandomInputs) -> None:
    x = random_inputs.tensor(64, 64) * 1e-6
    text = "among values of about 1e-6 it accepted an element that is 3 % off"
    assert answer(x.clone(), x), "it refused a copy"
    assert not answer(_with_one_wrong_element(x), x), text


@close_enough.step(
    "shape",
    "refuses another shape, and NaN",
    "What does PyTorch do with a (16, 16) and a (16,) tensor in one expression?",
    "Shapes broadcast, and comparisons with NaN are False. Compare the shapes first, and ask "
    "whether all differences are small, not whether any is large.",
)
def refuses_another_shape_and_nan(answer: Answer, random_inputs: RandomInputs) -> None:
    import torch

    row = random_inputs.tensor(16)
    x = row.expand(16, 16).contiguous()
    assert not answer(row, x), "it took a tensor of shape (16,) for one of shape (16, 16)"
    assert not answer(x + torch.nan, x), "it accepted a tensor of NaN"


# --------------------------------------------------------------------------- first_and_later

first_and_later = Exercise("first_and_later", "The first call against later ones")


def _time_calls(answer: Answer, *seconds: float) -> tuple[float, float, SleepingCall]:
    calls = SleepingCall(lambda n: seconds[min(n, len(seconds) - 1)])
    both = answer(calls)
    assert isinstance(both, (tuple, list)), f"it returned {both!r}, not two numbers"
    assert len(both) == 2, f"it returned {len(both)} things, not two numbers"
    return float(both[0]), float(both[1]), calls


@first_and_later.step(
    "two-numbers",
    "returns two numbers of seconds",
    "What does your function return? `first, later`, both in seconds.",
    "Take time.perf_counter() before and after a call; return (first, later) as floats.",
)
def returns_two_numbers(answer: Answer, random_inputs: RandomInputs) -> None:
    first, later, _ = _time_calls(answer, 0.03, 0.01)
    assert all(0 < seconds < 5 for seconds in (first, later)), (
        f"it returned {first:g} and {later:g} s"
    )


@first_and_later.step(
    "cold",
    "times the very first call",
    "Was the call that you timed first really the first one?",
    "A call before the clock starts takes the compile with it. Time the first call of all.",
)
def times_the_first_call(answer: Answer, random_inputs: RandomInputs) -> None:
    first, _, calls = _time_calls(answer, 0.08, 0.005)
    text = f"the first call took {calls.took[0]:.3f} s, and it said {first:.3f} s"
    assert 0.9 * calls.took[0] <= first <= 1.5 * calls.took[0] + 0.02, text


@first_and_later.step(
    "several",
    "makes several later calls",
    "How many calls does your number of later seconds come from?",
    "One call tells nothing of the spread. Make three or more, and take what is typical.",
)
def makes_several_calls(answer: Answer, random_inputs: RandomInputs) -> None:
    _, _, calls = _time_calls(answer, 0.01, 0.002)
    assert len(calls.took) >= 4, f"it made {len(calls.took)} calls in all"


@first_and_later.step(
    "mixed",
    "leaves the first call out of the later ones",
    "Is the first call's time in the list that the second number is made from?",
    "Start the list of later times after the first call.",
)
def leaves_the_first_call_out(answer: Answer, random_inputs: RandomInputs) -> None:
    _, later, calls = _time_calls(answer, 0.3, 0.004)
    text = f"later calls took {statistics.median(calls.took[1:]):.4f} s, and it said {later:.4f} s"
    slowest = max(calls.took[1:])
    assert later <= min(3 * slowest, slowest + 0.02), text


@first_and_later.step(
    "outlier",
    "gives a typical later call, whatever one slow one took",
    "One of the later calls was interrupted by something else: what does that do to your number?",
    "A mean follows a single outlier. Take the median (statistics.median).",
)
def gives_a_typical_call(answer: Answer, random_inputs: RandomInputs) -> None:
    _, later, calls = _time_calls(answer, 0.02, 0.004, 0.25, 0.004)
    typical = statistics.median(calls.took[1:])
    text = (
        f"most later calls took {typical:.4f} s, one {max(calls.took):.2f} s; it said {later:.4f} s"
    )
    assert 0.5 * min(calls.took[1:]) <= later <= 2 * typical + 0.005, text


@first_and_later.step(
    "fast",
    "nor what one fast one took",
    "One of the later calls had much less to do than the others: is your number the least of them?",
    "The least is as far from typical as the largest. Take the median (statistics.median).",
)
def is_not_the_fastest_call(answer: Answer, random_inputs: RandomInputs) -> None:
    _, later, calls = _time_calls(answer, 0.06, 0.03, 0.001, 0.03)
    typical = statistics.median(calls.took[1:])
    text = f"most later calls took {typical:.3f} s, one far less; it said {later:.3f} s"
    assert later > 0.5 * typical, text


# --------------------------------------------------------------------------- slowest_phase

slowest_phase = Exercise("slowest_phase", "Where the seconds of the first call go")

_PHASES = (
    "Dynamo",
    "AOTAutograd",
    "Inductor: lowering",
    "Inductor: scheduling and fusion",
    "Inductor: code generation",
    "C++ compiler",
    "Triton compiler",
)


def _phase_table(seconds: dict[str, float], counts: dict[str, int]) -> Table:
    rows = [(phase, counts[phase], seconds[phase]) for phase in seconds]
    rows.append(("Total", 1, sum(seconds.values())))
    return Table("Compile time by phase", "times", ("phase", "times", "seconds"), tuple(rows))


def _draw_table(random_inputs: RandomInputs) -> tuple[Table, str]:
    """Draw a table in which neither the first row nor the highest count is the slowest phase."""
    phases = random_inputs.random.sample(_PHASES, 5)
    seconds = {phase: random_inputs.random.uniform(0.1, 1.0) for phase in phases}
    seconds[phases[2]] = 4.0 + random_inputs.random.random()
    counts = {phase: random_inputs.integer(1, 5) for phase in phases} | {
        phases[4]: 400,
        phases[2]: 2,
    }
    return _phase_table(seconds, counts), phases[2]


@slowest_phase.step(
    "total",
    "does not answer with the total",
    "Which row of the table is the sum of the others?",
    "Leave out the row whose phase is Total.",
)
def leaves_the_total_out(answer: Answer, random_inputs: RandomInputs) -> None:
    result = answer(_draw_table(random_inputs)[0])
    assert isinstance(result, str), f"it returned {result!r}, not the name of a phase"
    assert result != "Total", "it answered Total"


@slowest_phase.step(
    "count",
    "goes by seconds, not by how often",
    "Which of the three columns did you compare?",
    "A row is (phase, times, seconds): compare row[2].",
)
def goes_by_seconds(answer: Answer, random_inputs: RandomInputs) -> None:
    table, slowest = _draw_table(random_inputs)
    result = answer(table)
    text = f"it answered {result!r}, the one that ran most often; slowest is {slowest!r}"
    assert result != table.rows[-2][0], text


@slowest_phase.step(
    "unseen",
    "is right for tables that it has not seen",
    "Your answer holds for the table of the lab. Does it look at the table that it is given?",
    "Compute the answer from times.rows; the slowest phase is another on another machine.",
)
def is_right_for_other_tables(answer: Answer, random_inputs: RandomInputs) -> None:
    for _ in range(8):
        table, slowest = _draw_table(random_inputs)
        result = answer(table)
        assert result == slowest, f"it answered {result!r}; slowest is {slowest!r}"


# --------------------------------------------------------------------------- stages

stages = Exercise("stages", "What a backend leaves out", frozenset({"cxx"}))


def _gate(x: Any) -> Any:
    return (x.sigmoid() * x).sum(-1)


def _square(x: Any) -> Any:
    return x @ x


def _run_graph(graph: Any, inputs: Any) -> Any:
    """Run the graph as it is: a backend without a registered name."""
    return graph.forward


def _check(
    answer: Answer,
    fn: Any,
    x: Any,
    backend: Any,
    expected_stages: set[str],
    backend_words: str = "",
) -> None:
    """Assert that the answer names the stages `expected_stages`; `backend_words` describes the
    backend.
    """
    stages = answer(fn, x, backend)
    assert isinstance(stages, (set, frozenset, list, tuple)), f"it returned {stages!r}, not a set"
    assert set(stages) == expected_stages, (
        f"for {backend_words or backend} it said {sorted(set(stages))}"
    )


@stages.step(
    "eager",
    "eager: a graph, and no more",
    "After which stage does the backend `eager` take over?",
    "Dynamo's graph is there (capture.graphs); AOTAutograd and Inductor never ran.",
)
def names_graph_for_eager(answer: Answer, random_inputs: RandomInputs) -> None:
    _check(answer, _gate, random_inputs.tensor(8, 16), "eager", {"graph"})


@stages.step(
    "aten",
    "aot_eager: ATen graphs too, with or without gradients",
    "Which artifact of a capture is there after AOTAutograd when nothing needs a gradient?",
    "capture.joint and .backward need gradients; capture.forward is there in both cases.",
)
def names_aten_for_aot_eager(answer: Answer, random_inputs: RandomInputs) -> None:
    _check(answer, _gate, random_inputs.tensor(8, 16), "aot_eager", {"graph", "aten"})


@stages.step(
    "kernels",
    "inductor: kernels, too",
    "What does only Inductor write?",
    "Look at capture.kernels.",
)
def names_kernels_for_inductor(answer: Answer, random_inputs: RandomInputs) -> None:
    _check(answer, _gate, random_inputs.tensor(8, 16), "inductor", {"graph", "aten", "kernels"})


@stages.step(
    "by-name",
    "is right for a backend that has no name",
    "A backend may be any callable. Does your function look at what happened, or at the name?",
    "Capture the compile, and look at what the capture holds; a table of names knows three.",
)
def looks_at_what_happened(answer: Answer, random_inputs: RandomInputs) -> None:
    what = "a callable that runs the graph"
    _check(answer, _gate, random_inputs.tensor(8, 16), _run_graph, {"graph"}, what)


@stages.step(
    "library",
    "does not take a call into a library for a kernel",
    "A matrix product alone, under Inductor: who wrote the code that multiplies?",
    "capture.kernels lists library calls, too, with the category 'extern'. They were not "
    "generated.",
)
def leaves_library_calls_out(answer: Answer, random_inputs: RandomInputs) -> None:
    x, true = random_inputs.tensor(64, 64), {"graph", "aten"}
    _check(answer, _square, x, "inductor", true, "a product alone")


EXERCISES = [close_enough, first_and_later, slowest_phase, stages]
