"""Every stamp, number and mark names the machine where its figure was measured."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tclab.model import Snippet, slug
from tclab.site import snippets

ROOT = Path(__file__).resolve().parents[2]
CPU = "CPU"


def heads(snippet: Snippet) -> Iterator[dict]:
    """What each recorded file that a snippet reads says of its machine, read without tclab."""
    for path in snippet.includes:
        if "records" not in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        head = json.loads(text.partition("\n")[0] if path.suffix == ".jsonl" else text)
        beside = path.with_name("run.json")
        if beside.is_file():
            head = json.loads(beside.read_text(encoding="utf-8"))["run"]
        named = (head.get(key) for key in ("environment", "machine", "provenance"))
        yield next(machine for machine in named if isinstance(machine, dict))


@functools.cache
def readers() -> dict[str, list[tuple[str, str]]]:
    """Return the versions and GPUs of the recordings that each snippet reads, by snippet."""
    return {
        snippet.name: [(head["torch"], head.get("gpu") or "") for head in heads(snippet)]
        for snippet in snippets.find(ROOT)
        if any("records" in path.parts for path in snippet.includes)
    }


@functools.cache
def by_id() -> dict[str, str]:
    return {slug(name): name for name in readers()}


class Labels(HTMLParser):
    """Each stamp with the id of the output above it; the titles of numbers and marks."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.stamps: list[tuple[str, str]] = []
        self.titles: list[tuple[str, str]] = []
        self._id, self._stamp = "", False
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        classes = values.get("class", "").split()
        if "tclab" in classes or "tclab-snippet" in classes:
            self._id = values.get("id", "")
        if "tclab-stamp" in classes:
            self._stamp = True
            self.stamps.append((self._id, ""))
        for kind in ("tclab-number", "tclab-proof"):
            if kind in classes:
                self.titles.append((kind, values["title"]))

    def handle_endtag(self, tag: str) -> None:
        self._stamp = self._stamp and tag != "p"

    def handle_data(self, data: str) -> None:
        if self._stamp:
            ident, text = self.stamps[-1]
            self.stamps[-1] = (ident, text + data)


@pytest.fixture(scope="module")
def labels(site: Path) -> list[Labels]:
    return [Labels(page) for page in sorted(site.rglob("*.html"))]


def reader_of(ident: str) -> str:
    """Return the snippet that reads recordings and whose output has this id; '' for any other."""
    fitting = [i for i in by_id() if ident == i or ident.startswith(f"{i}-here")]
    return by_id()[max(fitting, key=len)] if fitting else ""


def wrong(text: str, name: str) -> bool:
    """Return whether a label names another machine or version than the recordings have."""
    machines = readers()[name]
    named = set(re.findall(r"PyTorch (\d+\.\d+\.\d+)", text))
    gpus = {gpu for _, gpu in machines if gpu}
    return named != {torch.partition("+")[0] for torch, _ in machines} or any(
        gpu not in text for gpu in gpus
    )


def test_a_stamp_names_what_the_run_read(labels) -> None:
    stamps = [(reader_of(i), text) for each in labels for i, text in each.stamps if i]
    of_readers = [(name, text) for name, text in stamps if name]
    assert len(of_readers) >= len(readers())
    assert [pair for pair in of_readers if wrong(pair[1], pair[0])] == []
    assert all("computed by this build from rows recorded" in text for _, text in of_readers)
    assert not [text for name, text in stamps if not name and "computed by" in text]


@pytest.mark.parametrize("kind", ["tclab-number", "tclab-proof"])
def test_a_number_and_a_mark_name_what_the_run_read(labels, kind: str) -> None:
    titles = [title for each in labels for k, title in each.titles if k == kind]
    named = [(re.search(r"snippets/([\w/]+)\.py", title), title) for title in titles]
    of_readers = [(m[1], title) for m, title in named if m and m[1] in readers()]
    assert len(of_readers) > 40
    assert [pair for pair in of_readers if wrong(pair[1].rpartition("held:")[2], pair[0])] == []
    assert all("rows recorded on" in title for _, title in of_readers)


def test_no_mark_is_without_a_machine_where_it_held(labels) -> None:
    marks = [title for each in labels for kind, title in each.titles if kind == "tclab-proof"]
    assert len(marks) > 1000
    assert [title for title in marks if not title.rpartition("held:")[2].strip()] == []


def test_twins_say_the_same_with_captions_and_units(site: Path) -> None:
    twin = (site / "benchmarks/models.html.md").read_text(encoding="utf-8")
    stamps = re.findall(r"^\*(.* · [\d.]+ s.*)\*$", twin, re.MULTILINE)
    assert stamps and all("rows recorded on NVIDIA H200, PyTorch 2.11.0" in s for s in stamps)
    assert re.search(r"^\| .*\[\w+\] \|", twin, re.MULTILINE)
