"""What is given to make: a shell reads its recipes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project of which all is installed, and nothing is there to be run."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("pyproject.toml", ".ci/constraints.txt", ".venv/.installed"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return tmp_path


def make(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`make` that only says what it would run."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | variables
    return subprocess.run(["make", "--dry-run", *words], cwd=folder, env=env, text=True,
                          capture_output=True, timeout=60, check=False)  # fmt: skip


@pytest.mark.parametrize("place", ["command line", "environment"])
@pytest.mark.parametrize("name", ["TORCH", "TRITON", "ENV", "JOBS", "PYTHON", "SNIPPETS", "BENCH"])
@pytest.mark.parametrize(
    "value",
    ["2.13.0`touch ran`", "2;touch ran", "$(shell touch ran)2", "$$(touch ran)", "2\ntouch"],
)
def test_what_a_shell_would_run_is_refused(folder, name, value, place):
    given = {name: value} if place == "environment" else {}
    words = () if given else (f"{name}={value}",)
    ran = make(folder, "list", *words, **given)
    assert ran.returncode == 2 and f"make: {name} " in ran.stderr and "next: " in ran.stderr
    assert not (folder / "ran").exists() and ran.stdout == ""


def test_an_address_that_does_not_close_its_bracket_is_refused(folder):
    ran = make(folder, "site", SITE_URL="http://[::1")
    assert ran.returncode == 2 and "make: SITE_URL has '['" in ran.stderr and ran.stdout == ""
    assert make(folder, "site", SITE_URL="http://[::1]:8000/").returncode == 0


def test_what_is_meant_is_taken(folder):
    words = ("ENV=h200-torch2.13", "SNIPPETS=triton/softmax start")
    ran = make(folder, "record", *words, "PYTEST_ARGS=-k 'a and (b or c)'", "TORCH=2.13.0")
    assert ran.stdout.strip() == ".venv/bin/tclab record h200-torch2.13 triton/softmax start"


@pytest.mark.parametrize("place", ["command line", "environment"])
def test_no_name_of_the_makefile_stands_among_the_variables_of_a_run(folder, place):
    """`TORCH` begins like PyTorch's own, and a run says which of those were set."""
    (folder / ".venv-torch2.15.0/bin").mkdir(parents=True)
    (folder / ".venv-torch2.15.0/.installed").touch()
    tclab = folder / ".venv-torch2.15.0/bin/tclab"
    tclab.write_text("#!/bin/sh\nenv\n")
    tclab.chmod(0o755)
    given = {"TORCH": "2.15.0"}
    words = [f"{name}={value}" for name, value in given.items() if place == "command line"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    env |= given if place == "environment" else {}
    ran = subprocess.run(["make", "list", *words], cwd=folder, env=env, text=True, timeout=60,
                         capture_output=True, check=True)  # fmt: skip
    assert not [line for line in ran.stdout.splitlines() if line.startswith(("TORCH=", "TRITON="))]
    assert "TCLAB_STORE=" in ran.stdout


def test_a_recording_without_a_name_is_told_before_anything_is_installed(folder):
    (folder / ".venv/.installed").unlink()
    ran = make(folder, "record")
    assert ran.returncode == 2 and "next: make record ENV=" in ran.stderr and ran.stdout == ""


PYTHON = """#!/bin/sh
case "$*" in
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  *newer_torch) echo torch=2.99.0 ;;
esac
"""


def test_where_all_is_installed_first_the_newest_pytorch_is_still_all_that_is_printed(folder):
    """A workflow reads it."""
    (folder / ".venv/.installed").unlink()
    (folder / "python").write_text(PYTHON)
    (folder / "python").chmod(0o755)
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    words = ("make", "--silent", "newest", f"PYTHON={folder / 'python'}")
    ran = subprocess.run(words, cwd=folder, env=env, text=True, capture_output=True, timeout=60,
                         check=False)  # fmt: skip
    assert ran.stdout == "torch=2.99.0\n" and "Installing torch" in ran.stderr
    assert (folder / ".venv/.installed").exists()


def test_the_advice_serves_this_machine_only(folder):
    assert "http.server --bind 127.0.0.1" in make(folder, "site").stdout
    assert "http.server --bind 127.0.0.1" in (ROOT / "README.md").read_text(encoding="utf-8")
