"""Where recorded data was measured, read from each kind of file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tclab.errors import RecordingError
from tclab.model import Source
from tclab.site.store import sources
from tests.store.test_status import SNIPPET

H200 = {"torch": "2.11.0+cu130", "triton": "3.6.0", "gpu": "NVIDIA H200", "cpu": "A CPU"}
ON_H200 = Source("2.11.0+cu130", "3.6.0", "NVIDIA H200", "A CPU")


def written(path: Path, *lines: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_each_kind_of_file_says_where_it_was_measured(tmp_path: Path) -> None:
    rows = written(
        tmp_path / "rows.jsonl", {"environment": {**H200, "date": "2026-11-21"}}, {"x": 1}
    )
    assert sources.read_source(rows) == replace(ON_H200, dates=("2026-11-21",))
    report = written(tmp_path / "report.json", {"environment": H200, "recorded": "2026-11-22T03"})
    assert sources.read_source(report) == replace(ON_H200, dates=("2026-11-22",))
    target = written(
        tmp_path / "t.json", {"machine": {"torch": "2.13.0", "cpu": "C"}, "target": "h200"}
    )
    assert sources.read_source(target) == Source("2.13.0", cpu="C", target="h200")
    run = {"environment": "h200", "provenance": {**H200, "date": "2026-11-23"}}
    written(tmp_path / "a/run.json", {"format": 3, "run": run})
    artifact = written(tmp_path / "a/01-table.json", {"$kind": "table"})
    assert sources.read_source(artifact) == replace(ON_H200, dates=("2026-11-23",))


def test_files_of_one_machine_are_one_source_with_its_days(tmp_path: Path) -> None:
    folder = tmp_path / "records/h200"
    days = ("2026-11-22", "2026-11-21", "2026-11-22")
    rows = [
        written(folder / f"{number}.jsonl", {"environment": {**H200, "date": day}})
        for number, day in enumerate(days)
    ]
    page = written(tmp_path / "docs/page.md", "no recording")
    snippet = replace(SNIPPET, includes=(*rows, page))
    assert sources.read_sources(snippet) == (replace(ON_H200, dates=("2026-11-21", "2026-11-22")),)


@pytest.mark.parametrize("line", [{}, {"environment": {}}, {"environment": "h200"}, [1], 7])
def test_a_file_that_does_not_say_so_is_refused(tmp_path: Path, line: object) -> None:
    with pytest.raises(RecordingError, match="does not say which PyTorch"):
        sources.read_source(written(tmp_path / "x.json", line))


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{half")
    with pytest.raises(RecordingError, match="cannot be read"):
        sources.read_source(tmp_path / "x.jsonl")
