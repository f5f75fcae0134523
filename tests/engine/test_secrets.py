"""What a machine knows and nobody asked for reaches no run, no recording and no terminal."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tclab.site.store.local_runs import Store
from tests import planted
from tests.lab import SRC, Lab

FAILS = planted.INNOCENT + "raise ValueError(os.path.expanduser('~/x') + __file__)"
CHILD = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "import os; print(os.environ['TMPDIR'])"])
"""


@pytest.fixture
def lab(tmp_path, monkeypatch) -> Lab:
    """A project in a folder whose name is a secret, too."""
    made = Lab(tmp_path / planted.TOKEN.format("checkout") / "project")
    monkeypatch.setenv("TCLAB_STORE", str(made.store.path))
    planted.plant_in_git(made.root)
    made.write("t/good", planted.INNOCENT)
    made.write("t/fails", FAILS)
    made.write("t/child", CHILD)
    return made


def tclab(lab: Lab, variables: dict[str, str], *words: str) -> str:
    """Return the output of a command on the project."""
    done = subprocess.run(
        [sys.executable, "-m", "tclab", *words],
        cwd=lab.root,
        env=planted.environment(variables) | {"PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback (most recent call last):\n  File" not in done.stderr, done.stderr
    return done.stdout + done.stderr


def without_compiler(folder: Path) -> str:
    """A PATH with nothing but git: without a compiler the warm-up takes half as long."""
    folder.mkdir()
    if git := shutil.which("git"):
        (folder / "git").symlink_to(git)
    return str(folder)


def test_no_secret_reaches_runs_recordings_or_the_terminal(lab, tmp_path):
    variables = planted.plant(tmp_path) | {"PATH": without_compiler(tmp_path / "bin")}
    outputs = [
        tclab(lab, variables, *words.split())
        for words in ("run", "list", "show t/good", "show t/fails", "record gpu-x t/good t/child")
    ]
    assert [output for output in outputs if planted.found_in(output)] == []
    assert planted.found(lab.root / ".tclab", "cache") == []
    assert planted.found(lab.root / "records") == []
    run = Store(lab.root / ".tclab").load("t/good")
    assert run is not None
    assert run.stdout.count(".gone") == 3
    made = json.loads((lab.root / "records/gpu-x/t/good/run.json").read_text())
    assert "PYTORCH_CI_TOKEN" in made["run"]["provenance"]["variables"]


def test_another_value_makes_a_run_stale_although_it_is_hidden(lab, tmp_path):
    variables = planted.plant(tmp_path)
    tclab(lab, variables, "run", "t/good")
    assert "Nothing is stale" in tclab(lab, variables, "run", "t/good")
    listed = tclab(lab, variables | {"PYTORCH_CI_TOKEN": "hunter3"}, "list", "t/good")
    assert "variable PYTORCH_CI_TOKEN hidden" in listed
    assert "hunter3" not in listed


def test_the_key_of_hidden_values_is_the_stores_own(lab, tmp_path):
    mark = Store(tmp_path / "a").hide_value("secret")
    assert (
        mark
        == Store(tmp_path / "a").hide_value("secret")
        != Store(tmp_path / "a").hide_value("other")
    )
    assert mark != Store(tmp_path / "b").hide_value("secret")
    assert (tmp_path / "a/key").stat().st_mode & 0o077 == 0
    (tmp_path / "a/key").write_bytes(b"")  # a disk that was full
    assert Store(tmp_path / "a").hide_value("secret") != mark
    (tmp_path / "file").touch()
    assert Store(tmp_path / "file").hide_value("secret") != mark
