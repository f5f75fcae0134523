"""Rows, the file they are kept in, and what is computed of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tclab.bench import report, rows, statistics
from tclab.bench.rows import Book, Row
from tclab.errors import StoreError

HERE: dict[str, Any] = {
    "gpu": "NVIDIA H200",
    "cpu": "x",
    "cores": 16,
    "driver": "1",
    "torch": "2.11.0+cu130",
    "torch_git": "abc",
    "triton": "3.6.0",
    "python": "3.12",
    "variables": {},
    "date": "2026-11-21",
}


def row(mode: str = "default", **more: Any) -> Row:
    return Row(**{"case": "kernels/softmax@1x2", "mode": mode, "phase": "kernel", **more})


def test_a_row_comes_back_as_it_was(tmp_path: Path) -> None:
    kept = row(us=2.5, spread=0.01, rounds=(2.0, 3.0), facts={"error": 1e-3, "sets": 4})
    Book.open(tmp_path, HERE).add(kept)
    book = Book.open(tmp_path, HERE)
    assert list(book) == [kept]
    assert book.has("kernels/softmax@1x2", "default")
    assert not book.has("kernels/softmax@1x2", "eager")


def test_a_line_that_was_cut_off_is_measured_again(tmp_path: Path) -> None:
    book = Book.open(tmp_path, HERE)
    book.add(row())
    book.add(row("eager"))
    text = book.path.read_text()
    book.path.write_text(text[: len(text) - 30])
    assert [r.mode for r in Book.open(tmp_path, HERE)] == ["default"]


def test_a_broken_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path) -> None:
    book = Book.open(tmp_path, HERE)
    book.add(row())
    head, _, rest = book.path.read_text().partition("\n")
    book.path.write_text(f"{head}\n{{broken\n{rest}")
    with pytest.raises(StoreError, match=r"jsonl:2"):
        rows.read(book.path)


@pytest.mark.parametrize("changed", [{"torch": "2.13.0"}, {"gpu": "NVIDIA H100"}, {"driver": "2"}])
def test_another_environment_has_another_file(tmp_path: Path, changed: dict[str, str]) -> None:
    Book.open(tmp_path, HERE).add(row())
    assert not list(Book.open(tmp_path, {**HERE, **changed}))


def test_another_day_has_not(tmp_path: Path) -> None:
    Book.open(tmp_path, HERE).add(row())
    assert len(list(Book.open(tmp_path, {**HERE, "date": "2026-11-22"}))) == 1


@pytest.mark.parametrize("text", ["", "{}\n", json.dumps({"environment": {}, "suite": 0}) + "\n"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(StoreError):
        rows.read(path)


def test_break_even_counts_all_that_was_paid() -> None:
    paid = row(us=100.0, eager_us=300.0, facts={"first_s": 1.0, "recording_s": 1.0})
    assert paid.break_even == 10001
    assert row(us=300.0, eager_us=300.0, facts={"first_s": 1.0}).break_even is None
    assert row(us=1.0, eager_us=2.0).break_even is None


def test_spread_quotient_and_mean() -> None:
    assert statistics.spread([10.0, 10.0, 10.0, 10.0]) == 0
    assert statistics.spread([8.0, 9.0, 10.0, 11.0, 12.0]) == pytest.approx(0.2)
    drifting = [10.0, 20.0, 40.0]
    assert statistics.quotient(drifting, [x / 2 for x in drifting]) == 2
    assert statistics.geomean([1.0, 4.0]) == pytest.approx(2)
    assert statistics.geomean([]) is None


def test_what_is_said_of_rows() -> None:
    said = report.case(
        [
            row("eager", us=3000.0),
            row(us=1500.0, speed_up=2.0, spread=0.2),
            row("x", status="failed"),
        ],
        *(1, 2, 30.0),
    )
    results = "eager 3 ms, default 1.5 ms 2.00× unstable, x failed"
    assert said == f"[1/2] kernels/softmax@1x2: {results}  (about 30 s left)"
    [mean] = report.summary([row(us=1.0, speed_up=0.5), row(status="failed"), row("eager")])
    assert "0.50×" in mean
    assert "1 measured, 1 slower than eager, 1 not measured" in mean


def test_two_files_side_by_side(tmp_path: Path) -> None:
    ours = Book(tmp_path / "a", HERE, {})
    theirs = Book(tmp_path / "b", {**HERE, "gpu": "NVIDIA H100"}, {})
    for mode, us, other in (("eager", 10.0, 10.5), ("default", 5.0, 7.5)):
        ours.rows[row(mode).key] = row(mode, us=us, spread=0.01)
        theirs.rows[row(mode).key] = row(mode, us=other, spread=0.01)
    theirs.rows["other", "eager"] = Row("other", "eager", "kernel")
    head, same, apart, counts, lonely = report.comparison(ours, theirs)
    assert "H200" in head
    assert "H100" in head
    assert "1.05×" in same
    assert "apart" not in same
    assert apart.endswith("1.50×  apart")
    assert counts.startswith("1 of 2 rows agree")
    assert lonely.startswith("1 rows")
