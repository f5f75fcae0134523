"""`mkdocs serve`: saving a snippet runs that snippet, and no other; an error is survived."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest

OTHER = '"""Another."""\nimport tclab\ntclab.show("the other one", name="text")\n'


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.2)


@pytest.fixture
def served(project):
    """The project with a second snippet, and `mkdocs serve` on it: (project, get)."""
    project.write("snippets/start/other.py", OTHER)
    project.page('snippet("start/hello")', 'snippet("start/other")')
    done = project.build()
    assert done.returncode == 0, done.stdout
    address = f"127.0.0.1:{free_port()}"
    with (project.root / "serve.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mkdocs", "serve", "-a", address],
            cwd=project.root, env=project.environment(), stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip

        def get() -> str:
            try:
                with urllib.request.urlopen(f"http://{address}/", timeout=60) as answer:
                    return answer.read().decode()
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                return ""

        try:
            wait_for(lambda: "hello from a run" in get(), "the first page")
            yield project, get
        finally:
            process.terminate()
            process.wait(timeout=60)


def test_only_the_saved_snippet_runs_again(served) -> None:
    project, get = served
    runs = project.root / ".tclab/runs/start"
    other = (runs / "other/run.json").stat().st_mtime_ns
    hello = (runs / "hello/run.json").stat().st_mtime_ns
    source = project.root / "snippets/start/hello.py"

    source.write_text(source.read_text().replace("hello from a run", "hello again"))
    wait_for(lambda: "hello again" in get(), "the new output")
    assert (runs / "other/run.json").stat().st_mtime_ns == other
    assert (runs / "hello/run.json").stat().st_mtime_ns > hello

    source.write_text(source.read_text() + "\nraise ValueError('not yet right')\n")
    log = project.root / "serve.log"
    wait_for(lambda: "ValueError: not yet right" in log.read_text(), "the error")
    repaired = source.read_text().replace("raise ValueError('not yet right')", "print('repaired')")
    source.write_text(repaired)
    wait_for(lambda: get().count("repaired") == 2, "the code and what it prints")
