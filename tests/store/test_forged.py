"""Runs whose digests are right and whose content is not what tclab writes: each is a message with
its place, and nothing outside of the run's folder is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tclab.errors import RecordingError, StoreError
from tclab.model import Claim, Failure, Provenance, Run, Snippet, Table, Text
from tclab.site.store import keys, recordings, run_files
from tclab.site.store.local_runs import Store

ENV = "gpu-x"
SNIPPET = Snippet("t/x", Path("snippets/t/x.py"), "T.", "", '"""T."""\n')
MADE = Provenance("2.13.0", "abc", "3.11", "cpu", "Linux", "2026-01-01")
ARTIFACTS = (Text("A text", "a-text", "one\n"), Table("A table", "table", ("a",), ((1,),)))
CLAIMS = (Claim("c", 3, "assert x == 2", reached=1, held=True),)
RUN = Run("t/x", ENV, keys.source_key(SNIPPET), MADE, 1.5, 2**20, ARTIFACTS, "out\n", claims=CLAIMS)

Data = dict[str, Any]
Change = Callable[[Data, Path], None]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one good recording, and a secret beside it."""
    (tmp_path / "secret.txt").write_text("TOP-SECRET")
    recordings.write(tmp_path, ENV, RUN)
    assert recordings.status(tmp_path, ENV, SNIPPET).run() == RUN
    return tmp_path


def forge(folder: Path, change: Change) -> None:
    """Change a run as one does who knows how its digests are made."""
    path = folder / "run.json"
    data = json.loads(path.read_text())
    change(data, folder)
    if isinstance(data.get("files"), dict):
        for name in data["files"]:
            if (folder / name).is_file():
                data["files"][name] = keys.file_digest(folder / name)
    data.pop("digest")
    path.write_text(json.dumps(data | {"digest": keys.digest(data)}))


def top(**values: Any) -> Change:
    """With other values at the top of run.json; None leaves the name out."""

    def change(data: Data, _: Path) -> None:
        data.update(values)
        for name in [name for name, value in values.items() if value is None]:
            del data[name]

    return change


def run(**values: Any) -> Change:
    """With other values of the run."""
    return lambda data, _: data["run"].update(values)


def nested(where: str, **values: Any) -> Change:
    """With other values of its provenance, or of its first claim."""

    def change(data: Data, _: Path) -> None:
        found = data["run"][where]
        (found[0] if isinstance(found, list) else found).update(values)

    return change


def artifact(**values: Any) -> Change:
    """With other values of its first artifact."""

    def change(_: Data, folder: Path) -> None:
        path = folder / "01-a-text.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def names_a_file_outside(data: Data, folder: Path) -> None:
    outside = "../../../../secret.txt"
    data["files"][outside] = keys.file_digest(folder / outside)
    artifact(text={"$file": outside})(data, folder)


def links_to_a_file_outside(_: Data, folder: Path) -> None:
    (folder / "01-a-text.txt").unlink()
    (folder / "01-a-text.txt").symlink_to(folder / "../../../../secret.txt")


def is_no_text(_: Data, folder: Path) -> None:
    (folder / "stdout.txt").write_bytes(b"\xff\xfe")


FORGED: dict[str, tuple[Change, str, str]] = {
    # what was changed, the file that is named, what is said of it
    "no files": (top(files=None), "run.json", "None is not an object"),
    "files is a list": (top(files=["stdout.txt"]), "run.json", "is not an object"),
    "a digest is a number": (lambda d, _: d["files"].update(x=7), "run.json", "7 is not text"),
    "a file has no name": (lambda d, _: d["files"].update({"": "x"}), "run.json", "no file of its"),
    "a file is its folder": (lambda d, _: d["files"].update({".": "x"}), "run.json", "no file of"),
    "a file is the one above": (lambda d, _: d["files"].update({"..": "x"}), "run.json", "no file"),
    "a file has a null byte": (
        lambda d, _: d["files"].update({"\0": "x"}),
        "run.json",
        "no file of",
    ),
    "no run": (top(run=None), "run.json", "None is not an object"),
    "the run is a list": (top(run=[]), "run.json", "[] is not an object"),
    "the run is none": (run(**{"$kind": "text"}), "run.json", "unknown fields"),
    "no format": (top(format=None), "run.json", "is of format None"),
    "the format is true": (top(format=True), "run.json", "is of format True"),
    "no artifacts": (run(artifacts=None), "run.json", "None is not a list"),
    "an artifact is a number": (run(artifacts=[7]), "run.json", "7 is not text"),
    "an artifact without digest": (run(artifacts=["run.json"]), "run.json", "not among its files"),
    "an artifact outside": (run(artifacts=["../x/stdout.txt"]), "run.json", "not among its files"),
    "an artifact is another's output": (run(artifacts=["stdout.txt"]), "stdout.txt", "truncated"),
    "claims is null": (run(claims=None), "run.json", "run.claims: None is not a list"),
    "held is text": (nested("claims", held="false"), "run.json", "'false' is not true or false"),
    "seconds is text": (run(seconds="fast"), "run.json", "run.seconds: 'fast' is not a number"),
    "no provenance": (run(provenance=None), "run.json", "None is no provenance"),
    "a date is a word": (nested("provenance", date="yesterday"), "run.json", "is no day"),
    "a date is too late": (nested("provenance", date="9999-12-31"), "run.json", "is no day"),
    "a title is a number": (artifact(title=7), "01-a-text.json", "text.title: 7 is not text"),
    "a name is null": (artifact(name=None), "01-a-text.json", "text.name: None is not text"),
    "no artifact": (artifact(**{"$kind": "claim"}), "01-a-text.json", "cannot be read"),
    "text outside": (artifact(text={"$file": "../../../../secret.txt"}), "01-a-text.json", "not a"),
    "text of any file": (artifact(text={"$file": "/etc/passwd"}), "01-a-text.json", "not among"),
    "text of run.json": (artifact(text={"$file": "run.json"}), "01-a-text.json", "not among"),
    "text of no file": (artifact(text={"$file": ["x"]}), "01-a-text.json", "not among its files"),
    "a digest of one outside": (names_a_file_outside, "run.json", "is no file of its folder"),
    "a link": (links_to_a_file_outside, "01-a-text.txt", "it is a link"),
    "output that is no text": (is_no_text, "stdout.txt", "cannot be read: 'utf-8' codec"),
}


@pytest.mark.parametrize(("change", "file", "says"), FORGED.values(), ids=FORGED)
def test_a_forged_recording_is_broken_at_its_place(
    root: Path, change: Change, file: str, says: str
) -> None:
    forge(recordings.folder(root, ENV, "t/x"), change)
    with pytest.raises(RecordingError) as caught:
        shown_or_problem(root)
    assert caught.value.place == f"records/{ENV}/t/x/{file}"
    assert says in caught.value.cause
    assert f"tclab record {ENV} t/x" in caught.value.next_step


def shown_or_problem(root: Path) -> Run:
    status = recordings.status(root, ENV, SNIPPET)
    if status.problem:
        raise status.problem
    return status.run()


@pytest.mark.parametrize(("change", "file", "says"), FORGED.values(), ids=FORGED)
def test_the_same_in_the_store(tmp_path: Path, change: Change, file: str, says: str) -> None:
    (tmp_path / "secret.txt").write_text("TOP-SECRET")
    store = Store(tmp_path / "s")
    store.save(replace(RUN, environment="here"))
    forge(store.folder("t/x"), change)
    with pytest.raises(StoreError) as caught:
        store.load("t/x")
    assert caught.value.place.endswith(f"t/x/{file}")
    assert says in caught.value.cause
    assert caught.value.next_step == "run it again: tclab run --force t/x"


def test_a_run_of_an_earlier_format_is_named(root: Path) -> None:
    forge(recordings.folder(root, ENV, "t/x"), top(format=run_files.FORMAT - 1))
    with pytest.raises(RecordingError, match=f"is of format {run_files.FORMAT - 1}, which"):
        shown_or_problem(root)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_nesting_without_an_end_is_damage(root: Path, text: str) -> None:
    path = recordings.folder(root, ENV, "t/x") / "run.json"
    path.write_text(text)
    assert recordings.status(root, ENV, SNIPPET).state == "broken"


def test_a_run_that_failed_is_no_recording(root: Path) -> None:
    folder = recordings.folder(root, ENV, "t/x")
    run_files.write(replace(RUN, failure=Failure("raised", "no")), folder.with_name("y"))
    (folder.with_name("y") / "run.json").replace(folder / "run.json")
    status = recordings.status(root, ENV, SNIPPET)
    assert status.state == "broken"
    assert "holds a run that failed" in str(status.problem)


@pytest.mark.parametrize("above", ["t/x", "t", ""])
def test_a_recording_behind_a_link_is_refused(root: Path, above: str) -> None:
    there = root / "records" / ENV / above
    there.rename(root / "elsewhere")
    there.symlink_to(root / "elsewhere")
    status = recordings.status(root, ENV, SNIPPET)
    assert status.state == "broken"
    assert "lies behind a link" in str(status.problem)


def test_the_folder_of_all_records_may_be_a_link(root: Path) -> None:
    (root / "records").rename(root / "elsewhere")
    (root / "records").symlink_to(root / "elsewhere")
    assert recordings.status(root, ENV, SNIPPET).fresh
