"""A snippet whose times vary too much: its recording is shown, or else the build ends."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from tclab.site import snippets
from tclab.site.engine import events
from tclab.site.engine.plan import Plan
from tclab.site.engine.record import record
from tclab.site.pages import book, hooks, state

CODE = """
import os
from pathlib import Path
import tclab
from tclab.errors import Unsteady
if Path({flag!r}).exists():
    raise Unsteady("one graph", "its median is 16 times its least time")
tclab.show("1.1 ms", name="times")
"""
PAGE = """# Times

```python exec="1" html="1"
from tclab.site.pages import show
show("t/times", "times")
```
"""


@pytest.fixture
def busy(lab):
    """The file that makes the snippet's times unsteady while it exists."""
    flag = lab.root / "busy"
    lab.write("t/times", CODE.format(flag=str(flag)), "alone=true")
    (lab.root / "docs").mkdir()
    (lab.root / "docs" / "page.md").write_text(PAGE, encoding="utf-8")
    return flag


def test_an_unsteady_run_leaves_its_place_to_the_recording(lab, busy, caplog):
    made = record(Plan(lab.root), "cpu-torch2.13", [snippets.get("t/times", lab.root)])
    assert made["t/times"].ok
    busy.touch()
    config = SimpleNamespace(
        config_file_path=str(lab.root / "mkdocs.yml"), docs_dir=str(lab.root / "docs"),
        site_dir=str(lab.root / "site"),
    )  # fmt: skip
    with caplog.at_level(logging.INFO, "mkdocs.plugins.tclab"):
        hooks.open_build(config, book.open_book)
    (shown,) = state.build().book.runs["t/times"]
    assert shown.environment == "cpu-torch2.13" and shown.ok
    assert "t/times was unsteady here, so its recording is shown: tclab.errors." in caplog.text
    busy.unlink()
    (live,) = book.open_book(lab.root, lab.root / "docs").runs["t/times"]
    assert live.environment == "here"


def test_without_a_recording_the_build_ends(lab, busy):
    busy.touch()
    with pytest.raises(book.Problems, match="its median is 16 times its least time"):
        book.open_book(lab.root, lab.root / "docs")


def test_it_is_measured_once_more_and_never_recorded(lab, busy):
    snippet = snippets.get("t/times", lab.root)
    record(Plan(lab.root), "cpu-torch2.13", [snippet])
    busy.touch()
    run = lab.run(snippet)["t/times"]
    assert run.failure.cause == "unsteady"
    assert len(lab.heard(events.Remeasured)) == 1
    again = Plan(lab.root)
    record(again, "cpu-torch2.13", [snippet], force=True)
    assert again.recorded_status(snippet, "cpu-torch2.13").fresh  # the steady one stays
    assert again.is_replaced(run)
