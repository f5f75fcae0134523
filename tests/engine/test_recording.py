"""Recordings: who writes them, when they hold, what is said when they do not."""

from __future__ import annotations

import json
import shutil

import pytest

from tclab.errors import RecordingError, StoreError
from tclab.site.engine import bare
from tclab.site.engine.record import record as record_runs
from tclab.site.store import recordings

ENV = "box-torch2.11"
CODE = "import tclab\nprint('hello')\ntclab.show('code', name='x')"


@pytest.fixture
def snippet(lab):
    return lab.write("t/one", CODE)


def record(lab, *chosen, **options):
    return record_runs(lab.plan(), ENV, chosen, on_event=lab.events.append, **options)


def status(lab, snippet, environment=ENV):
    return recordings.status(lab.root, environment, snippet)


def files(lab):
    return {p: p.read_bytes() for p in (lab.root / "records").rglob("*") if p.is_file()}


def test_what_is_recorded_is_what_ran(lab, snippet):
    run = record(lab, snippet)["t/one"]
    assert run.environment == ENV
    assert [one.run() for one in lab.plan().recorded_statuses(snippet)] == [run]
    tables = lab.root / "records" / "versions" / "torch2.11.json"  # of no snippet
    tables.parent.mkdir()
    tables.write_text("{}")
    assert recordings.environments(lab.root) == [ENV]
    assert status(lab, snippet).fresh
    assert status(lab, snippet).problem is None
    assert status(lab, snippet, "other").state == "never"


def test_running_never_writes_recordings(lab, snippet):
    lab.run(snippet)
    assert not (lab.root / "records").exists()
    record(lab, snippet)
    before = files(lab)
    lab.run(lab.write("t/one", CODE + "\nprint(2)"))
    assert files(lab) == before


def test_recording_goes_on_where_it_stopped(lab, snippet):
    record(lab, snippet)
    before = files(lab)
    other = lab.write("t/two", CODE)
    assert list(record(lab, snippet, other)) == ["t/two"]
    assert {p: c for p, c in files(lab).items() if "one" in p.parts} == before
    assert list(record(lab, snippet, other, force=True)) == ["t/one", "t/two"]


def test_each_is_written_as_soon_as_it_is_done(lab, snippet):
    seen = f"{lab.root}/records/{ENV}/t/one/run.json"
    later = lab.write("t/zlast", f"import os\nassert os.path.exists({seen!r})")
    runs = record(lab, snippet, later, jobs=1)
    assert runs["t/zlast"].ok, runs["t/zlast"].failure


def test_a_failed_run_leaves_the_former_recording(lab, snippet):
    record(lab, snippet)
    before = files(lab)
    bad = lab.write("t/one", "1 / 0")
    assert not record(lab, bad)["t/one"].ok
    assert files(lab) == before


def test_a_failure_revokes_the_recording_until_the_snippet_or_the_recording_is_another(
    lab, tmp_path
):
    switch = tmp_path / "broken"
    code = f"import os\nprint(1)\nassert not os.path.exists({str(switch)!r}), 'broken'"
    snippet = lab.write("t/one", code)
    record(lab, snippet)
    switch.touch()
    assert not record(lab, snippet, force=True)["t/one"].ok
    found = lab.plan().recorded_status(snippet, ENV)
    assert found.state == "failed"
    assert "record it again: AssertionError: broken" in found.problem.cause
    assert lab.plan().recorded_status(lab.write("t/one", f"{code}\n"), ENV).state == "stale"
    assert list(record(lab, lab.write("t/one", code))) == ["t/one"]  # it is not fresh
    switch.unlink()
    assert record(lab, lab.write("t/one", code))["t/one"].ok
    assert lab.plan().recorded_status(snippet, ENV).fresh


def test_a_changed_snippet_makes_it_stale(lab, snippet):
    record(lab, snippet)
    changed = lab.write("t/one", CODE + "\n# changed")
    assert status(lab, changed).state == "stale"
    problem = status(lab, changed).problem
    assert problem.place == f"records/{ENV}/t/one"
    assert "snippets/t/one.py has changed" in problem.cause
    assert f"tclab record {ENV} t/one" in problem.next_step


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data.replace(b"hello", b"HELLO").replace(b'"seconds": ', b'"seconds": 9'),
    ],
    ids=["truncated", "empty", "edited"],
)
@pytest.mark.parametrize("file", ["run.json", "stdout.txt"])
def test_damage_is_named(lab, snippet, file, damage):
    record(lab, snippet)
    path = recordings.folder(lab.root, ENV, "t/one") / file
    path.write_bytes(damage(path.read_bytes()))
    assert status(lab, snippet).state == "broken"
    problem = status(lab, snippet).problem
    assert isinstance(problem, RecordingError)
    assert problem.place == f"records/{ENV}/t/one/{file}"
    assert f"tclab record {ENV} t/one" in problem.next_step


def test_a_missing_file_is_named(lab, snippet):
    record(lab, snippet)
    (recordings.folder(lab.root, ENV, "t/one") / "01-x.txt").unlink()
    assert status(lab, snippet).problem.place.endswith("t/one/01-x.txt")


def test_a_recording_moved_elsewhere_is_no_recording(lab, snippet):
    record(lab, snippet)
    shutil.copytree(lab.root / "records" / ENV, lab.root / "records" / "other")
    assert status(lab, snippet, "other").problem.place == "records/other/t/one"


def test_a_recording_without_snippet_is_found(lab, snippet):
    record(lab, snippet)
    assert recordings.find_orphans(lab.root, [snippet]) == []
    (orphan,) = recordings.find_orphans(lab.root, [])
    assert orphan.place == f"records/{ENV}/t/one"


def test_records_that_cannot_be_written_are_one_error(lab, snippet):
    (lab.root / "records").write_text("a file")
    with pytest.raises(StoreError, match=rf"records/{ENV}/t/one: cannot be written") as caught:
        record(lab, snippet)
    assert caught.value.runs["t/one"].ok


@pytest.mark.parametrize("name", ["here", "", "a/b", "..", "A b"])
def test_a_bad_name_is_refused(lab, snippet, name):
    with pytest.raises(RecordingError, match="not a name"):
        record_runs(lab.plan(), name, [snippet])


def test_the_command_of_a_bare_machine(lab, snippet, monkeypatch, capsys):
    lab.write("t/bad", "1 / 0")
    monkeypatch.setenv("TCLAB_ROOT", str(lab.root))
    assert bare.main(["record", ENV, "t/one"]) == 0
    assert "t/one: ok" in capsys.readouterr().out
    assert bare.main(["record", ENV, "t"]) == 1
    captured = capsys.readouterr()
    assert "t/bad: FAILED: raised" in captured.out
    assert "snippets/t/bad.py:2: raised: ZeroDivisionError" in captured.err
    assert bare.main(["record", ENV, "t/gone"]) == 1
    assert "there is no such snippet" in capsys.readouterr().err
    monkeypatch.setenv("TCLAB_ROOT", "/nonexistent")
    assert bare.main(["record", ENV]) == 1
    assert "TCLAB_ROOT=/nonexistent: is no folder" in capsys.readouterr().err


def test_a_recording_is_plain_text(lab, snippet):
    record(lab, snippet)
    folder = recordings.folder(lab.root, ENV, "t/one")
    assert (folder / "stdout.txt").read_text() == "hello\n"
    data = json.loads((folder / "run.json").read_text())
    assert data["run"]["provenance"]["torch"]
    assert str(lab.root) not in "".join(p.read_text() for p in folder.iterdir())
