"""Storing: what comes back is what was saved; a kill or a full disk loses nothing."""

from __future__ import annotations

import errno
import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tclab.errors import StoreError
from tclab.model import (
    Break,
    Breaks,
    Failure,
    Graph,
    Kernel,
    KernelFacts,
    Listing,
    Node,
    Provenance,
    Resources,
    Run,
    SourceLine,
    Table,
    Text,
)
from tclab.site.store import folders, run_files
from tclab.site.store.local_runs import Store

MADE = Provenance("2.13.0", "abc", "3.11", "cpu", "Linux", "2026-01-01", variables={"TORCH_X": "1"})
FACTS = KernelFacts(written={"grid": "1"}, resources=Resources(16, 0))
LINE = SourceLine("snippets/t/x.py", 3, "f(x)", "f")
ARTIFACTS = (
    Text("A text", "a-text", "one\ntwo\r\n"),
    Listing("A listing", "listing", "int x;", "cpp", links={1: ("py:a:1",)}),
    Kernel("A kernel", "kernel", "@jit", "python", facts=FACTS, source_lines=(LINE,)),
    Graph(
        "A graph", "graph", code="def f(): ...", nodes=(Node("a", "output", "o", shape=("s0",)),)
    ),
    Breaks("Breaks", "breaks", (Break("print", location=LINE),), 2),
    Table("A table", "table", ("a", "b"), ((1, None), (2.5, "x"))),
    Listing("Data", "data", "{}", "json"),
)
RUN = Run("t/x", "here", "s", MADE, 1.5, 2**20, ARTIFACTS, "out\n", "err \\xff\n")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_what_comes_back_is_what_was_saved(store):
    store.save(RUN)
    assert store.load("t/x") == RUN


def test_the_files_are_readable(store):
    store.save(RUN)
    folder = store.folder("t/x")
    assert (folder / "stdout.txt").read_text() == "out\n"
    assert (folder / "02-listing.cpp").read_text() == "int x;"
    assert (folder / "03-kernel.py").read_text() == "@jit"
    assert (folder / "04-graph.py").read_text() == "def f(): ..."
    assert json.loads((folder / "05-breaks.json").read_text())["graphs"] == 2


def test_there_is_none_before_the_first(store):
    assert store.load("t/x") is None
    assert store.load_failed("t/x") is None


def test_every_file_is_covered_by_a_digest(store):
    store.save(RUN)
    for path in sorted(store.folder("t/x").iterdir()):
        whole = path.read_bytes()
        for damaged in (whole[:-2], whole + b"x", whole.replace(b"e", b"E"), b""):
            if damaged == whole:
                continue
            path.write_bytes(damaged)
            with pytest.raises(StoreError) as caught:
                store.load("t/x")
            assert f"t/x/{path.name}" in caught.value.place or path.name == "run.json"
            assert "tclab run --force t/x" in caught.value.next_step
        path.write_bytes(whole)
    assert store.load("t/x") == RUN


def test_a_field_of_another_version_is_an_error_not_dropped(tmp_path):
    run_files.write(RUN, tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    data = json.loads(path.read_text())
    data.pop("digest")
    data["run"]["new"] = 1
    data["digest"] = run_files.digest(data)
    path.write_text(json.dumps(data))
    with pytest.raises(StoreError, match="unknown fields"):
        run_files.read(tmp_path / "run", "t/x")


def test_a_failed_run_does_not_replace_a_good_one(store):
    store.save(RUN)
    failed = replace(RUN, failure=Failure("raised", "no", LINE, "Traceback …", "mend it"))
    store.save(failed)
    assert store.load("t/x") == RUN
    assert store.load_failed("t/x") == failed


def test_a_failed_run_that_cannot_be_kept_still_revokes_the_good_one(store):
    store.save(RUN)
    (store.path / "failed").touch()  # where its folder would be
    with pytest.raises(StoreError, match="cannot keep t/x"):
        store.save(replace(RUN, failure=Failure("raised", "no", LINE, "", "mend it")))
    assert store.load("t/x") is None


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_full_or_read_only_disk_is_one_error_and_loses_nothing(store, monkeypatch, number):
    store.save(RUN)
    wrote = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "02-listing.cpp":
            raise OSError(number, os.strerror(number))
        return wrote(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StoreError, match=os.strerror(number)) as caught:
        store.save(replace(RUN, stdout="later"))
    assert caught.value.next_step
    assert store.load("t/x") == RUN
    assert [p.name for p in store.folder("t").iterdir()] == ["x"]


def test_a_file_over_the_size_limit_is_one_error_and_loses_nothing(store):
    """A real refusal of the system to write: RLIMIT_FSIZE in a process of its own."""
    resource = pytest.importorskip("resource")
    store.save(RUN)
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            store.save(replace(RUN, stdout="x" * 10000))
        except StoreError as error:
            os._exit(10 if "File too large" in error.cause else 11)
        os._exit(12)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 10
    assert store.load("t/x") == RUN


def test_a_folder_without_write_permission_is_one_error(store):
    """Root may write anywhere, so as root the test acts as nobody."""
    store.path.mkdir()
    store.path.chmod(0o555)
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(65534)
        with pytest.raises(StoreError, match="Permission denied"):
            store.check_writable()
        with pytest.raises(StoreError, match="Permission denied"):
            store.save(RUN)
    finally:
        if root:
            os.seteuid(0)
        store.path.chmod(0o755)
    store.check_writable()


def in_child(action) -> int:
    """Do it in a forked process; its exit status, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def save_killed_in_mid_write(store: Store) -> None:
    wrote = Path.write_bytes

    def killed(path: Path, data: bytes) -> int:
        if path.name == "03-kernel.py":
            wrote(path, data[:2])
            die()
        return wrote(path, data)

    Path.write_bytes = killed  # type: ignore[method-assign]
    store.save(replace(RUN, stdout="later"))


def save_killed_between_the_renames(store: Store) -> None:
    folders._exchange_paths = lambda a, b: False
    rename, calls = os.rename, []

    def second_kills(a, b) -> None:
        calls.append(a)
        if len(calls) == 2:
            die()
        rename(a, b)

    os.rename = second_kills
    store.save(replace(RUN, stdout="later"))


@pytest.mark.parametrize("save", [save_killed_in_mid_write, save_killed_between_the_renames])
def test_a_kill_in_mid_write_leaves_the_earlier_run(store, save):
    store.save(RUN)
    assert in_child(lambda: save(store)) == -signal.SIGKILL
    assert store.load("t/x") == RUN
    later = replace(RUN, stdout="after")
    store.save(later)
    assert store.load("t/x") == later
    assert [p.name for p in store.folder("t").iterdir()] == ["x"]


def test_a_lock_is_one_holders(store):
    lock = store.lock("t/x")
    assert store.lock("t/x") is None
    assert store.lock("t/y") is not None
    lock.release()
    assert store.lock("t/x") is not None
