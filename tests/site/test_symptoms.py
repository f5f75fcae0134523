"""The table from symptom to cause: each row is proved by a run, and leads on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "practice" / "find-out.md"
_CELL = re.compile(r"(?<!\\)\|")
ROWS = [
    [cell.strip() for cell in _CELL.split(line)[1:-1]]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| What you see"))
]


def test_there_are_many_symptoms_and_none_twice() -> None:
    assert len({row[0] for row in ROWS}) == len(ROWS) >= 12


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_each_row_asks_is_proved_and_leads_on(row: list[str]) -> None:
    symptom, ask, answer, chapter = row
    assert symptom and ask
    assert "](claim:" in answer
    assert re.search(r"\]\((?:\.\./)?[\w/-]*(?:\.md)?(?:#[\w-]+)?\)", chapter)
