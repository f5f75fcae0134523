"""The code of graphs that were compiled again is kept: found again, and only what was written."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tclab.jobs.again.kept import KeptResults

ANSWER = {"code": "import torch\n", "torch": "2.13.0", "seconds": 1.5}


@pytest.fixture
def results(tmp_path: Path) -> KeptResults:
    return KeptResults(tmp_path / "replays", "here")


def test_an_answer_is_found_again(results: KeptResults) -> None:
    assert results.find("a graph") is None
    results.keep("a graph", ANSWER)
    assert results.find("a graph") == ANSWER
    assert results.find("another graph") is None
    assert KeptResults(results.folder, "elsewhere").find("a graph") is None


def test_what_has_no_code_is_not_kept(results: KeptResults) -> None:
    """A limit of time may hold no more, and a refusal takes no time."""
    results.keep("a graph", {"cause": "the compile ended"})
    assert results.find("a graph") is None and not results.folder.exists()


def test_an_unknown_environment_keeps_nothing(results: KeptResults) -> None:
    unknown = KeptResults(results.folder, "")
    unknown.keep("a graph", ANSWER)
    assert unknown.find("a graph") is None
    assert KeptResults.of("/no/such/python").environment == ""


@pytest.mark.parametrize("end", [0, 5, 40, -1])
def test_a_cut_file_is_left_out(results: KeptResults, end: int) -> None:
    results.keep("a graph", ANSWER)
    (file,) = results.folder.iterdir()
    file.write_bytes(file.read_bytes()[:end])
    assert results.find("a graph") is None
    results.keep("a graph", ANSWER)
    assert results.find("a graph") == ANSWER


def test_another_files_content_is_left_out(results: KeptResults) -> None:
    """Each byte counts: a changed one is no answer."""
    results.keep("a graph", ANSWER)
    (file,) = results.folder.iterdir()
    data = file.read_bytes()
    for position in range(len(data)):
        changed = bytes([*data[:position], data[position] ^ 1, *data[position + 1 :]])
        file.write_bytes(changed)
        assert results.find("a graph") in (None, ANSWER), position


def test_two_at_once_leave_one_whole_file(results: KeptResults) -> None:
    threads = [
        threading.Thread(target=results.keep, args=("a graph", ANSWER)) for _ in range(8)
    ]  # fmt: skip
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert results.find("a graph") == ANSWER and len([*results.folder.iterdir()]) == 1


def test_the_folder_is_bounded_and_the_last_used_stay(results: KeptResults) -> None:
    for number in range(5):
        results.keep(f"graph {number}", ANSWER)
        os.utime(results._file(f"graph {number}"), (number, number))
    size = sum(file.stat().st_size for file in results.folder.iterdir())
    assert results.find("graph 0")  # the oldest is used now
    results.limit(size * 2 // 5)
    kept = [number for number in range(5) if results.find(f"graph {number}")]
    assert kept == [0, 4]


def test_a_folder_that_takes_no_file_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    results = KeptResults(tmp_path / "file" / "replays", "here")
    results.keep("a graph", ANSWER)
    results.limit()
    assert results.find("a graph") is None
