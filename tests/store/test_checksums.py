"""Files recorded beside runs: each has a digest, and is refused once it is not what was written."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tclab.errors import RecordingError
from tclab.model import Provenance, Run
from tclab.site.engine.plan import Plan
from tclab.site.snippets.files import read
from tclab.site.store import checksums, recordings
from tests.lab import Lab

ROOT = Path(__file__).resolve().parents[2]
NAME = "h200/rows.jsonl"
RUN = Run("t/x", "h200", "k", Provenance("2.13", "", "", "", "", ""), 1.0, 1, stdout="out")


@pytest.fixture
def root(lab: Lab) -> Path:
    """A project with a file that has its digest, and a recording."""
    path = lab.root / "records" / NAME
    path.parent.mkdir(parents=True)
    path.write_text('{"a": 1}\n{"b": 2}\n')
    checksums.write(path)
    recordings.write(lab.root, "h200", RUN)
    assert checksums.find_problems(lab.root) == []
    return lab.root


def link_outside(path: Path) -> None:
    path.rename(path.parents[2] / "elsewhere")
    path.symlink_to(path.parents[2] / "elsewhere")


def link_above(path: Path) -> None:
    shutil.move(path.parent, path.parents[2] / "elsewhere")
    path.parent.symlink_to(path.parents[2] / "elsewhere")


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "edited": (lambda path: path.write_text('{"a": 9}\n{"b": 2}\n'), "truncated or edited"),
    "last row cut off": (lambda path: path.write_text('{"a": 1}\n'), "truncated or edited"),
    "a row more": (lambda path: path.write_text('{"a": 1}\n{"b": 2}\n{}\n'), "truncated or edited"),
    "empty": (lambda path: path.write_text(""), "truncated or edited"),
    "line ends": (lambda path: path.write_bytes(b'{"a": 1}\r\n{"b": 2}\r\n'), "or edited"),
    "removed": (Path.unlink, "No such file"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "cannot be read"),
    "a link": (link_outside, "is a link"),
    "behind a link": (link_above, "is a link, or lies behind one"),
    "not in the list": (lambda path: (path.parents[1] / checksums.NAME).unlink(), "has no digest"),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "says"), DAMAGE.values(), ids=DAMAGE)
def test_what_is_not_what_was_written_is_named(root: Path, damage, says: str) -> None:
    path = root / "records" / NAME
    damage(path)
    [problem] = checksums.find_problems(root)
    assert problem.place == f"records/{NAME}"
    assert says in problem.cause
    assert f"git checkout records/{NAME}" in problem.next_step
    with pytest.raises(RecordingError, match=says):
        checksums.check(path, root)


def test_a_file_that_no_command_wrote_is_named(root: Path) -> None:
    (root / "records" / "new.json").write_text("{}")
    (root / "records" / ".gitattributes").write_text("* -text")
    [problem] = checksums.find_problems(root)
    assert (problem.place, problem.cause) == (
        "records/new.json",
        "has no digest in records/SHA256SUMS",
    )
    assert checksums.main([str(root / "records" / "new.json")]) == 0
    assert checksums.find_problems(root) == []


def test_a_change_that_was_meant_is_kept_by_the_command_that_is_named(root: Path) -> None:
    path = root / "records" / NAME
    path.write_text("{}\n")
    [problem] = checksums.find_problems(root)
    assert problem.next_step.endswith(f"python -m tclab.site.store.checksums records/{NAME}")
    assert checksums.main([str(path)]) == 0
    assert checksums.find_problems(root) == []
    path.unlink()
    assert checksums.main([str(path)]) == 0
    assert checksums.find_problems(root) == []


@pytest.mark.parametrize("text", ["x\n", f"{'0' * 64} one-space\n", "\xff"])
def test_a_list_that_cannot_be_read_is_named(root: Path, text: str, capsys) -> None:
    (root / "records" / checksums.NAME).write_bytes(text.encode("latin-1"))
    with pytest.raises(RecordingError, match="records/SHA256SUMS") as caught:
        checksums.find_problems(root)
    assert caught.value.next_step == "restore it: git checkout records/SHA256SUMS"
    assert checksums.main([str(root / "records" / NAME)]) == 1
    assert "git checkout" in capsys.readouterr().err


def test_a_snippet_does_not_read_a_file_that_was_edited(lab: Lab, root: Path) -> None:
    reader = lab.write("t/reads", "print(1)", f"reads=records/{NAME}")
    assert Plan(root, lab.store).local_status(reader).state == "never"
    (root / "records" / NAME).write_text("{}\n")
    reader = read(reader.path, root)
    with pytest.raises(RecordingError, match=f"records/{NAME}: was truncated or edited"):
        lab.run(reader)
    assert Plan(root, lab.store).local_status(lab.write("t/other", "print(1)")).state == "never"


def test_a_file_among_those_of_a_run_is_none_of_it(lab: Lab, root: Path) -> None:
    snippet = lab.write("t/x", "print(1)")
    (root / "records" / "h200" / "t" / "x" / "more.json").write_text("{}")
    problem = recordings.status(root, "h200", snippet).problem
    assert problem is not None
    assert problem.place == "records/h200/t/x/more.json"


def test_a_file_elsewhere_gets_no_digest(root: Path, tmp_path: Path) -> None:
    before = (root / "records" / checksums.NAME).read_bytes()
    for path in (root / "bench.jsonl", tmp_path / "alone.jsonl"):
        path.write_text("{}")
        checksums.write(path)
    assert (root / "records" / checksums.NAME).read_bytes() == before


def test_the_projects_own_records_are_what_was_written() -> None:
    assert checksums.find_problems(ROOT) == []


def test_sha256sum_reads_the_list_too() -> None:
    command = shutil.which("sha256sum")
    if command is None:
        pytest.skip("this machine has no sha256sum")
    subprocess.run([command, "--check", "--strict", "--quiet", checksums.NAME],
                   cwd=ROOT / "records", check=True)  # fmt: skip
