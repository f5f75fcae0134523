"""What a process and those below it hold, read from /proc or, where there is none, by psutil."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tclab.system import processes

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
        monkeypatch.setattr(processes, "_HAS_PROC", False)
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
        processes.send_signal([parent.pid, child], 9)


def test_descendants_are_found(reader, family) -> None:
    parent, child = family
    assert parent in processes.find_children(os.getpid())
    assert processes.find_descendants(parent) == {child}
    assert {parent, child} <= processes.find_descendants(os.getpid())


def test_memory_is_that_of_all(reader, family) -> None:
    parent, child = family
    each = processes.resident_bytes([parent]), processes.resident_bytes([child])
    assert all(bytes_ > 2**20 for bytes_ in each)
    assert processes.resident_bytes(family) >= max(each)


def test_what_has_gone_holds_nothing(reader) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    assert processes.find_children(gone.pid) == []
    assert processes.resident_bytes([gone.pid]) == 0
    processes.send_signal([gone.pid], 0)
