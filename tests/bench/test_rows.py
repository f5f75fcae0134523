"""Rows, the file they are kept in, and what is computed of them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tclab.errors import StoreError
from tclab.site.remote.client import ClusterAddress
from tclab.site.store import checksums, keys
from tclab.workshop.bench import cluster_suite, report, rows, session, statistics
from tclab.workshop.bench.rows import Book, Row

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


def half_lines() -> list[bytes]:
    """What can be left of a line: cut within a word, within a letter, before its end."""
    whole = json.dumps(asdict(row("late", reason="µ")), ensure_ascii=False).encode()
    return [whole[:1], whole[:30], whole[: whole.index("µ".encode()) + 1], whole[:-1], whole]


@pytest.mark.parametrize("half", half_lines())
def test_a_half_line_does_not_spoil_the_next_row(tmp_path: Path, half: bytes) -> None:
    book = Book.open(tmp_path, HERE)
    book.add(row())
    with book.path.open("ab") as file:
        file.write(half)
    late = ["late"] if half == half_lines()[-1] else []
    assert [r.mode for r in rows.read(book.path)] == ["default", *late]
    book.add(row("eager"))
    assert [r.mode for r in rows.read(book.path)] == ["default", *late, "eager"]
    Book.open(tmp_path, HERE).add(row("again"))
    assert [r.mode for r in rows.read(book.path)] == ["default", *late, "eager", "again"]


@pytest.mark.parametrize("half", [b"", b'{"environ'])
def test_a_file_that_was_only_begun_is_begun_anew(tmp_path: Path, half: bytes) -> None:
    path = Book.open(tmp_path, HERE).path
    path.write_bytes(half)
    Book.open(tmp_path, HERE).add(row())
    assert list(rows.read(path)) == [row()]


def test_a_full_disk_keeps_the_rows_and_no_half_one(tmp_path: Path) -> None:
    """A real refusal of the system to write on: RLIMIT_FSIZE in a process of its own."""
    resource = pytest.importorskip("resource")
    book = Book.open(tmp_path, HERE)
    book.add(row())
    size = book.path.stat().st_size + 20
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            book.add(row("eager"))
        except StoreError as error:
            os._exit(10 if "no row can be kept: File too large" in str(error) else 11)
        os._exit(12)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 10
    assert book.path.read_bytes().endswith(b"}\n")
    book.add(row("eager"))
    assert [r.mode for r in rows.read(book.path)] == ["default", "eager"]


def test_several_at_once_lose_no_row_of_another(tmp_path: Path) -> None:
    project(tmp_path)
    writers = [os.fork() or add_forty(tmp_path, name) for name in "abc"]
    assert [os.waitpid(pid, 0)[1] for pid in writers] == [0, 0, 0]
    book = Book.open(tmp_path / "records" / "h200", HERE)
    assert sorted(r.mode for r in book) == sorted(f"{n}{i}" for n in "abc" for i in range(40))
    assert checksums.find_problems(tmp_path) == []


def add_forty(root: Path, name: str) -> NoReturn:
    """In a forked process, as long a row as a buffer does not hold."""
    status = 1
    try:
        book = Book.open(root / "records" / "h200", HERE)
        for number in range(40):
            book.add(row(f"{name}{number}", reason="x" * 10_000))
        status = 0
    finally:
        os._exit(status)


def project(root: Path) -> None:
    """What makes a folder a project, so that what is recorded there gets digests."""
    (root / "mkdocs.yml").touch()
    (root / "snippets").mkdir()


def test_rows_among_the_records_have_a_digest_after_each_row(tmp_path: Path) -> None:
    project(tmp_path)
    book = Book.open(tmp_path / "records" / "h200", HERE)
    assert checksums.find_problems(tmp_path) == []
    book.add(row())
    assert checksums.find_problems(tmp_path) == []
    digests = (tmp_path / "records" / "SHA256SUMS").read_text()
    assert digests == f"{keys.file_digest(book.path)}  h200/{book.path.name}\n"


def test_what_a_killed_bench_left_without_digest_is_gone_on_with(tmp_path: Path) -> None:
    project(tmp_path)
    book = Book.open(tmp_path / "records" / "h200", HERE)
    with book.path.open("a") as file:
        file.write(json.dumps(asdict(row())) + '\n{"case": "half')
    assert checksums.find_problems(tmp_path)
    Book.open(book.path.parent, HERE).add(row("eager"))
    assert [r.mode for r in rows.read(book.path)] == ["default", "eager"]
    assert checksums.find_problems(tmp_path) == []


@pytest.mark.parametrize("part", [slice(0), slice(-30), slice(1, None), slice(None, None, -1)])
def test_no_row_is_added_to_a_file_that_was_edited(tmp_path: Path, part: slice) -> None:
    """Its new digest would cover the edit."""
    project(tmp_path)
    book = Book.open(tmp_path / "records" / "h200", HERE)
    book.add(row(speed_up=1.3))
    edited = book.path.read_text()[part]
    book.path.write_text(edited)
    with pytest.raises(StoreError, match="git checkout records/"):
        Book.open(book.path.parent, HERE)
    assert book.path.read_text() == edited


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"case": "half', "Unterminated string"),
        ("7", "7 is not an object"),
        ('{"mode": "eager"}', "missing"),
        ('{"case": 7, "mode": "eager", "phase": "kernel"}', "Row.case: 7 is not text"),
        ('{"case": "a", "mode": "e", "phase": "k", "us": "fast"}', "Row.us: 'fast' is not"),
        ('{"case": "a", "mode": "e", "phase": "k", "rounds": 7}', "Row.rounds: 7 is not a list"),
        ('{"case": "a", "mode": "e", "phase": "k", "facts": {"sets": "x"}}', "Facts.sets: 'x'"),
        ('{"case": "a", "mode": "e", "phase": "k", "colour": 1}', "unknown fields"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: str, says: str) -> None:
    book = Book.open(tmp_path, HERE)
    with book.path.open("a") as file:
        file.write(f"{line}\n")
    Book(book.path, HERE).add(row())
    with pytest.raises(StoreError) as caught:
        rows.read(book.path)
    assert caught.value.place == f"{book.path}:2"
    assert says in caught.value.cause


def test_a_separator_of_unicode_ends_no_line(tmp_path: Path) -> None:
    kept = row(reason="a\u2028b\x85c")
    Book.open(tmp_path, HERE).add(kept)
    assert list(Book.open(tmp_path, HERE)) == [kept]


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


def test_of_two_equal_cards_it_does_not_matter_which(monkeypatch: pytest.MonkeyPatch) -> None:
    names = set()
    for card in ("0", "1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", card)
        names.add(rows.file_key(session.measure_environment("cuda")))
    assert len(names) == 1


@pytest.mark.parametrize(
    "text", ["", "{}\n", json.dumps({"environment": {}, "suite": 0}) + "\n", "7\n", "[]\n"]
)
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
    assert statistics.median_ratio(drifting, [x / 2 for x in drifting]) == 2
    shaken = [10.0, 20.0, 60.0], [5.0, 20.0, 20.0]  # the medians are equal
    assert statistics.median_ratio(*shaken) == 2
    assert statistics.geomean([1.0, 4.0]) == pytest.approx(2)
    assert statistics.geomean([]) is None


def test_what_is_said_of_rows() -> None:
    said = report.format_case(
        [
            row("eager", us=3000.0),
            row(us=1500.0, speed_up=2.0, spread=0.2),
            row("x", status="failed"),
        ],
        *(1, 2, 30.0),
    )
    results = "eager 3 ms, default 1.5 ms 2.00× unstable, x failed"
    assert said == f"[1/2] kernels/softmax@1x2: {results}  (about 30 s left)"
    [mean] = report.summarize([row(us=1.0, speed_up=0.5), row(status="failed"), row("eager")])
    assert "0.50×" in mean
    assert "1 measured, 1 slower than eager, 1 not measured" in mean


def test_two_files_side_by_side(tmp_path: Path) -> None:
    ours = Book(tmp_path / "a", HERE, {})
    theirs = Book(tmp_path / "b", {**HERE, "gpu": "NVIDIA H100"}, {})
    for mode, us, other in (("eager", 10.0, 10.5), ("default", 5.0, 7.5)):
        ours.rows[row(mode).key] = row(mode, us=us, spread=0.01)
        theirs.rows[row(mode).key] = row(mode, us=other, spread=0.01)
    theirs.rows["other", "eager"] = Row("other", "eager", "kernel")
    head, same, apart, counts, lonely = report.compare_books(ours, theirs)
    assert "H200" in head
    assert "H100" in head
    assert "1.05×" in same
    assert "apart" not in same
    assert apart.endswith("1.50×  apart")
    assert counts.startswith("1 of 2 rows agree")
    assert lonely.startswith("1 rows")


def test_rows_of_another_kind_of_worker_are_not_counted(tmp_path: Path) -> None:
    on_a_cpu = HERE | {"gpu": "", "driver": ""}
    for made in (HERE, HERE | {"gpu": "NVIDIA H100"}, HERE | {"torch": "2.13.0"}, on_a_cpu):
        Book.open(tmp_path, made).add(row(us=1.0))

    def counted(device: str, **words: str) -> int:
        return len(
            cluster_suite.ClusterRequest(ClusterAddress("local:1"), **words).read_books(
                tmp_path, device
            )
        )

    assert [counted("cuda"), counted("cpu")] == [3, 1]
    assert [counted("cuda", gpu="h200"), counted("cuda", gpu="H200", torch="2.11")] == [2, 1]
    assert [counted("cuda", torch="2.1"), counted("cpu", torch="2.13")] == [0, 0]
