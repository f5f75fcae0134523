"""The worker's side on a CPU: every kernel and model of torch is right, and a wrong one is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tclab.model import EAGER
from tclab.workshop.bench import suites
from tclab.workshop.bench.case import Case
from tclab.workshop.bench.measured import device, worker
from tclab.workshop.bench.measured.lock import hold_lock
from tclab.workshop.bench.task import Task
from tclab.workshop.catalog import subject
from tests.nightly import one_in

NO_PRIMITIVE = "could not create a primitive descriptor"
CASES = {case.name: case for case, _ in suites.list_steps("cpu", "tiny")}


def prepared(case: Case, tmp_path: Path, mode: str = EAGER) -> worker.PreparedCase:
    before = torch.is_grad_enabled()
    try:
        return worker.PreparedCase(Task(case, mode, "cpu", str(tmp_path), "", 1))
    finally:
        torch.set_grad_enabled(before)


@pytest.mark.parametrize("name", one_in(2, CASES))
def test_every_case_runs_and_agrees_with_float64(name: str, tmp_path: Path) -> None:
    ready = prepared(CASES[name], tmp_path)
    if NO_PRIMITIVE in ready.reason:  # of oneDNN, for a tiny LSTM on a CPU without AVX512
        pytest.skip(ready.reason)
    assert (ready.status, ready.reason) == ("ok", "")
    if "dropout" not in name:  # it keeps other numbers each time
        assert ready.facts["error"] == ready.facts["eager_error"]
    assert ready.facts["sets"] * ready.facts["least_bytes"] > 0
    assert ready.facts["first_s"] > 0


def test_products_are_counted(tmp_path: Path) -> None:
    ready = prepared(CASES["kernels/matmul_bias_gelu@n32"], tmp_path)
    assert ready.facts["flops"] == 2 * 32**3


def test_least_bytes_are_inputs_and_outputs_once(tmp_path: Path) -> None:
    ready = prepared(CASES["kernels/softmax@32x64"], tmp_path)
    assert ready.facts["least_bytes"] == 2 * 32 * 64 * 4


def off_by(factor: float) -> subject.Subject:
    """Something whose compiled form is wrong by a factor."""

    def make(compile_: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: x if compile_ is subject.eager else x * factor

    return subject.Subject(
        make=make,
        inputs=lambda seed: (torch.full((8,), seed + 1.0),),
        exact=lambda x: x.double(),
        others={"triton": lambda x: x * factor},
    )


@pytest.mark.parametrize(
    ("factor", "status"), [(1.0, "ok"), (1.1, "mismatch"), (float("nan"), "mismatch")]
)
def test_a_wrong_result_has_no_speed(
    factor: float, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "build_subject", lambda *_: off_by(factor))
    case = Case("kernels/wrong@1", "kernels:wrong", "kernel", (EAGER,))
    assert prepared(case, tmp_path, "triton").status == status


def test_a_wrong_training_step_is_seen(tmp_path: Path) -> None:
    ready = prepared(CASES["training/torch/transformer@2"], tmp_path)
    arguments, of = ready.inputs[0], ready.subject
    with torch.enable_grad():
        exact = of.exact(*arguments)
        assert of.outcome is not None
        right = of.outcome(of.make(subject.eager), arguments)
        skewed = of.outcome(lambda *a: ready.run(a[0].flip(0), a[1]), arguments)
        again = of.outcome(of.make(subject.eager), arguments)
    assert subject.relative_error(right, exact) < 0.2 < subject.relative_error(skewed, exact)
    assert subject.relative_error(again, right) == 0  # a look changes neither weights nor optimizer


def test_errors() -> None:
    one = torch.ones(4)
    assert subject.relative_error((one,), (one,)) == 0
    assert subject.relative_error(one * 1.5, one) == pytest.approx(0.5)
    assert subject.relative_error(torch.tensor([1, 2]), torch.tensor([1, 3])) == float("inf")
    with pytest.raises(ValueError, match="zip"):
        subject.relative_error((one, one), (one,))


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (ModuleNotFoundError("no", name="timm"), "skipped"),
        (ModuleNotFoundError("no", name="other"), "failed"),
        (torch.cuda.OutOfMemoryError("x"), "memory"),
        (ValueError("/opt/venv/lib/python3.11/site-packages/x.py"), "failed"),
    ],
)
def test_what_an_error_makes_of_a_row(problem: Exception, status: str) -> None:
    case = Case("a@1", "b:c", "inference", (EAGER,), needs=("timm",))
    assert worker.classify_error(problem, case) == status
    assert "/opt/" not in worker.describe_error(problem)


def test_warm_is_when_calls_stop_changing() -> None:
    assert worker.is_steady([1.0, 1.0, 1.1, 1.0])
    assert not worker.is_steady([1.0, 1.0, 1.0, 5.0])


def test_the_last_cache_is_asked_for() -> None:
    assert 2**18 <= device.last_cache("cpu") <= 2**32
    assert device._parse_size.__doc__


def test_the_lock_lets_its_holder_through(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with hold_lock(path), hold_lock(path):
        pass
    with hold_lock(""):
        pass
