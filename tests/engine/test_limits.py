"""What a process and those below it hold, read from /proc or, where there is none, by psutil."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tclab.engine.worker import limits

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"],
                         start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture(params=["/proc", "psutil"])
def reader(request, monkeypatch) -> None:
    if request.param == "psutil":
        monkeypatch.setattr(limits, "_PROC", False)
    elif not Path("/proc/self/statm").exists():
        pytest.skip("no /proc to read")


@pytest.fixture
def family() -> Iterator[tuple[int, int]]:
    """A process, and one that it started in a session of its own."""
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        yield parent.pid, child
        limits.send([parent.pid, child], 9)


def test_descendants_are_found(reader, family) -> None:
    parent, child = family
    assert parent in limits.children(os.getpid())
    assert limits.below(parent) == {child}
    assert {parent, child} <= limits.below(os.getpid())


def test_memory_is_that_of_all(reader, family) -> None:
    parent, child = family
    each = limits.resident([parent]), limits.resident([child])
    assert all(bytes_ > 2**20 for bytes_ in each)
    assert limits.resident(family) >= max(each)


def test_what_has_gone_holds_nothing(reader) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    assert limits.children(gone.pid) == []
    assert limits.resident([gone.pid]) == 0
    limits.send([gone.pid], 0)
