"""What the suites hold, in which order, and what is left of them."""

from __future__ import annotations

import pytest

from tclab.errors import BadRequest
from tclab.model import DEFAULT, EAGER
from tclab.workshop.bench import session, sizes, suites
from tclab.workshop.bench.case import AUTOTUNE, DESCENT
from tclab.workshop.bench.machine_load import _describe_gpu_use


def test_there_are_enough_kernels_and_models() -> None:
    assert len(sizes.KERNELS) >= 16
    assert len(sizes.MODELS) >= 40
    assert len([model for model in sizes.MODELS if model.train]) >= 40
    assert {m.kind for m in sizes.MODELS} == {
        *("vision", "language", "speech", "diffusion", "recommendation"),
    }


@pytest.mark.parametrize("suite", suites.NAMES)
@pytest.mark.parametrize("scale", suites.SCALES)
def test_no_pair_of_case_and_mode_comes_twice(suite: str, scale: str) -> None:
    pairs = [
        (c.name, m) for c, modes in suites.list_steps(suite, scale) for m in modes if m != EAGER
    ]
    assert len(pairs) == len(set(pairs))


def test_every_step_has_eager_first_and_autotuning_comes_last() -> None:
    every = suites.list_steps("kernels", "gpu") + suites.list_steps("models", "gpu")
    assert {modes[0] for _, modes in every} == {EAGER}
    tuned = [bool({AUTOTUNE, DESCENT} & {*modes}) for _, modes in suites.put_tuned_last(every)]
    assert tuned == sorted(tuned)
    kernels = {case.name for case, modes in every if DESCENT in modes}
    assert kernels == {case.name for case, _ in every if case.phase == "kernel"}


def test_what_is_missing_brings_eager_along() -> None:
    [step] = suites.select_cases(suites.list_steps("kernels", "tiny"), ["softmax@"])[:1]
    case, modes = step
    done = {(case.name, mode) for mode in modes[:-1]}
    assert suites.select_missing([step], done) == [(case, (EAGER, modes[-1]))]
    assert not suites.select_missing([step], done | {(case.name, modes[-1])})


def test_eager_alone_is_measured_once() -> None:
    steps = suites.select_modes(suites.list_steps("kernels", "gpu"), [EAGER, DEFAULT])
    todo = suites.select_missing(suites.put_tuned_last(steps), set())
    assert [modes for _, modes in todo] == [(EAGER, DEFAULT)] * len({c.name for c, _ in todo})


def test_batches_divide_no_case() -> None:
    steps = suites.list_steps("kernels", "gpu")
    groups = session.split_into_batches(steps, 10)
    assert [step for group in groups for step in group] == steps
    assert max(sum(len(modes) for _, modes in group) for group in groups) <= 10
    assert len(session.split_into_batches(steps, 1)) == len(steps)


def test_an_unknown_suite_is_named() -> None:
    with pytest.raises(BadRequest, match="one of: ceilings"):
        suites.list_steps("speed", "gpu")


@pytest.mark.parametrize(("line", "busy"), [("0, 4", False), ("97, 4", True), ("0, 9000", True)])
def test_a_busy_gpu_is_gpu_in_words(line: str, *, busy: bool) -> None:
    assert bool(_describe_gpu_use(line)) is busy
