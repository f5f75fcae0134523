"""The same verdicts in any order and in several processes, beside tests that reset Dynamo."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """\
import os, random

def pytest_collection_modifyitems(items):
    if seed := os.environ.get("ORDER"):
        random.Random(seed).shuffle(items)
"""
SUITE = """\
import pytest, torch

def f(x):
    y = x + 1
    if CHANGED:
        print("break")
    return y * 2

CHANGED = {changed}
once = torch.compile(f, backend="eager")

@pytest.fixture(scope="module")
def model():
    return torch.nn.Linear(4, 4)

@pytest.mark.parametrize("size", [2, 3, 5])
def test_sizes(compiled, size):
    compiled(f, torch.ones(size), level="dynamo").matches()

def test_resets():
    torch._dynamo.reset()

def test_shared(compiled, model):
    compiled(model, torch.ones(2, 4), level="dynamo").matches()

def test_shared_again(compiled, model):
    c = compiled(model, [(torch.ones(2, 4),), (torch.ones(3, 4),)], level="dynamo")
    c.expect(breaks=0, recompiles=1)

@pytest.mark.compiled(max_breaks=0, max_recompiles=0)
def test_marked():
    once(torch.ones(7))

def test_by_itself():
    once(torch.ones(3))
    once(torch.ones(9))
"""


def verdicts(folder: Path, *words: str, order: str = "") -> dict[str, str]:
    """Test → what became of it."""
    command = [sys.executable, "-m", "pytest", "-p", "torch_compile_lab_pytest", "-v", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                          env=os.environ | {"ORDER": order}, timeout=500)  # fmt: skip
    ran = dict(re.findall(r"^.*?(test_it\.py::\S+).*?(PASSED|FAILED)", done.stdout, re.MULTILINE))
    ran |= {name: word for word, name in
            re.findall(r"(PASSED|FAILED).*?(test_it\.py::\S+)", done.stdout)}  # fmt: skip
    assert len(ran) == 8, done.stdout + done.stderr
    return ran


def test_the_same_in_order_shuffled_and_in_two_processes(tmp_path: Path) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(SUITE.format(changed=False))
    assert set(verdicts(tmp_path, "--compiled-update", "-n", "2").values()) == {"PASSED"}
    assert len([*(tmp_path / "compiled").iterdir()]) == 4
    (tmp_path / "test_it.py").write_text(SUITE.format(changed=True))
    first = verdicts(tmp_path)
    failed = {name.partition("::")[2] for name, word in first.items() if word == "FAILED"}
    assert failed == {"test_sizes[2]", "test_sizes[3]", "test_sizes[5]", "test_marked"}
    assert verdicts(tmp_path, "-n", "2", order="7") == first
