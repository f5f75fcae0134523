"""Turns, rounds and what becomes of workers that fail, with workers that only pretend."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tclab.workshop.bench import batch
from tclab.workshop.bench import session as sessions
from tclab.workshop.bench.batch import Clock, Rounds, take_turns
from tclab.workshop.bench.case import Case
from tclab.workshop.bench.rows import Book, Row

CASE = Case("kernels/x@1", "kernels:x", "kernel", ("eager", "default"))


class Pretender:
    """Takes the times it is given, one a round."""

    def __init__(self, mode: str, times: list[float], log: list[str] | None = None) -> None:
        self.case, self.mode, self.times = CASE, mode, iter(times)
        self.status, self.reason = "ok", ""
        self.facts: dict[str, Any] = {"call_us": 100.0}
        self.log = [] if log is None else log
        self.step = 0

    @property
    def is_ready(self) -> bool:
        return self.status == "ok"

    def free_memory(self) -> None:
        pass

    def time_calls(self, calls: int, limit: float) -> float | None:
        self.log.append(self.mode)
        if (us := next(self.times, None)) is None:
            self.status, self.reason = "failed", "it crashed"
        return us


def rows(*workers: Pretender, **how: Any) -> dict[str, Row]:
    made = batch._make_rows(workers, Rounds(**how), time.monotonic() + 100)  # type: ignore[arg-type]
    return {row.mode: row for row in made}


def test_modes_take_turns_and_each_round_begins_with_another() -> None:
    log: list[str] = []
    workers = [Pretender(mode, [1.0] * 9, log) for mode in "ab"]
    take_turns(workers, Rounds(minimum=3))  # type: ignore[arg-type]
    assert "".join(log) == "ab" + "ab" + "ba" + "ab"


def test_a_drift_that_both_share_is_no_gain() -> None:
    drift = [100.0, 110.0, 121.0, 133.0, 146.0, 161.0, 177.0, 195.0, 214.0, 236.0]
    made = rows(
        Pretender("eager", [1.0, *drift]), Pretender("default", [1.0, *(d / 2 for d in drift)])
    )
    assert made["default"].speed_up == pytest.approx(2)
    assert made["default"].unstable


def test_rounds_end_early_only_when_they_agree() -> None:
    calm, wild = [10.0] * 20, [10.0, 20.0] * 10
    assert len(rows(Pretender("eager", calm))["eager"].rounds) == Rounds.minimum
    assert len(rows(Pretender("eager", wild))["eager"].rounds) == Rounds.maximum


def test_after_the_end_three_rounds_do() -> None:
    worker: Any = Pretender("eager", [10.0, 20.0] * 10)
    assert len(take_turns([worker], Rounds(), end=0.0)["eager"]) == 3


def test_one_that_crashes_while_it_is_timed_is_a_row_and_the_others_go_on() -> None:
    made = rows(Pretender("eager", [10.0] * 20), Pretender("default", [5.0, 5.0]))
    assert (made["default"].status, made["default"].reason) == ("failed", "it crashed")
    assert made["default"].us is None
    assert made["eager"].ok


def test_a_row_that_was_not_ready_keeps_its_reason() -> None:
    worker = Pretender("default", [])
    worker.status, worker.reason = "memory", "OutOfMemoryError: 3 GiB"
    [row] = rows(worker).values()
    assert (row.status, row.reason) == ("skipped", "OutOfMemoryError: 3 GiB")


def measured(*modes: str) -> tuple[list[tuple[str, ...]], dict[str, str]]:
    """Which modes are to be tried again, and the rows, of steps that all ran out of memory."""
    kept: dict[str, str] = {}

    def prepare(tasks: Any, *_: Any) -> list[Any]:
        made = [Pretender(mode, []) for _, _, mode in tasks]
        for worker, (worker.step, *_) in zip(made, tasks):
            worker.status, worker.reason = "memory", "OutOfMemoryError: 3 GiB"
        return made

    pool: Any = SimpleNamespace(prepare=prepare)
    steps = [(CASE, (mode,)) for mode in modes]
    later = time.monotonic() + 100
    again = batch.measure_batch(pool, steps, Rounds(), later, later, lambda _: None,
                          lambda rows: kept.update((r.mode, r.reason) for r in rows))  # fmt: skip
    return [modes for _, modes in again], kept


def test_only_what_ran_out_of_memory_alone_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "end_workers", lambda _: None)
    assert measured("eager", "default") == ([("eager",), ("default",)], {})
    assert measured("eager") == ([], {"eager": "OutOfMemoryError: 3 GiB"})


def session(tmp_path: Any, measure: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sessions, "measure_batch", measure)
    here = {"gpu": "", "cpu": "x", "torch": "2"}
    pool: Any = SimpleNamespace(jobs=4)
    clock = Clock(100.0, time.monotonic())
    return sessions.Session(pool, Book.open(tmp_path, here), clock, 2)


def test_the_rest_is_told_at_the_pace_so_far_and_within_the_budget():
    minute_ago = time.monotonic() - 60
    assert Clock(1e9, minute_ago).estimate_rest(6, 10) == pytest.approx(40, abs=1)
    assert Clock(70.0, minute_ago).estimate_rest(6, 10) == pytest.approx(10, abs=1)
    assert Clock(50.0, minute_ago).estimate_rest(6, 10) == 0
    assert Clock(1e9, minute_ago).estimate_rest(10, 10) == 0


def test_what_ran_out_of_memory_beside_others_is_tried_alone(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    steps = [(CASE, ("eager",)), (CASE, ("default",))]

    def measure(pool: Any, given: Any, *_: Any) -> list[Any]:
        asked.append(len(given))
        return [given[1]] if len(given) > 1 else []

    session(tmp_path, measure, monkeypatch).run(steps, 36)
    assert asked == [2, 1]


def test_a_measured_row_is_not_written_over(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own = session(tmp_path, lambda *_: [], monkeypatch)
    for row in (
        Row("a", "default", "kernel", "timeout"),
        Row("a", "default", "kernel", us=2.0),
        Row("a", "default", "kernel", us=3.0),
        Row("a", "default", "kernel", "failed"),
    ):
        own._keep_rows([row])
    assert own.book.rows["a", "default"].us == 2.0
