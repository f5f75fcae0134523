"""A command that `tclab open` runs: its output, its exit status, and the signals that end it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.jobs.job_files import SRC
from tests.jobs.test_inputs import LOG, RECORDS

#: A program that writes a prepared log as its trace, says its number, and waits.
WAITING = """
import os, pathlib, sys, time
pathlib.Path(os.environ["TORCH_TRACE"], "new.log").write_text(pathlib.Path(sys.argv[1]).read_text())
print(os.getpid(), flush=True)
time.sleep(float(sys.argv[2]))
sys.exit(7)
"""


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A prepared log."""
    path = tmp_path / LOG
    path.write_text("".join(RECORDS), encoding="utf-8")
    return str(path)


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start ``tclab open -- python -c …`` in a process group of its own, as a terminal does."""
    return subprocess.Popen(
        [sys.executable, "-m", "tclab", "open", "--", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(SRC), "TORCH_TRACE": str(folder)},
    )  # fmt: skip


def test_output_and_status_pass_through(tmp_path: Path, log: str) -> None:
    old = tmp_path / "traces"
    old.mkdir()
    (old / "old.log").write_text("".join(RECORDS), encoding="utf-8")
    output, errors = (job := start(old, sys.executable, "-c", WAITING, log, "0")).communicate()
    assert job.returncode == 7
    assert output.strip().isdigit()
    assert "1 process; 1 compile" in errors  # not that of the old log
    (folder,) = re.findall(r"the traces are in (\S+)", errors)
    assert [each.name for each in Path(folder).iterdir()] == ["new.log"]
    assert Path(folder).parent == old


@pytest.mark.parametrize("status", [0, 5])
def test_a_command_that_compiles_nothing_keeps_its_status(tmp_path: Path, status: int) -> None:
    job = start(tmp_path / "new", sys.executable, "-c", f"raise SystemExit({status})")
    assert "compiled nothing" in job.communicate()[1]
    assert job.returncode == status
    assert not any((tmp_path / "new").iterdir())


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    job = start(tmp_path, str(tmp_path / "no-such-program"))
    assert "cannot be run" in job.communicate()[1]
    assert job.returncode == 2


def interrupt_group(job: subprocess.Popen[str]) -> None:
    os.killpg(job.pid, signal.SIGINT)


def terminate(job: subprocess.Popen[str]) -> None:
    os.kill(job.pid, signal.SIGTERM)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups of this kind")
@pytest.mark.parametrize(("end", "status"), [(interrupt_group, 130), (terminate, 143)])
def test_a_signal_ends_both_and_what_was_written_is_opened(
    tmp_path: Path, log: str, end: Callable[[subprocess.Popen[str]], None], status: int
) -> None:
    job = start(tmp_path, sys.executable, "-c", WAITING, log, "600")
    assert job.stdout is not None
    child = int(job.stdout.readline())
    end(job)
    errors = job.communicate(timeout=60)[1]
    assert job.returncode == status
    assert "1 process; 1 compile" in errors
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_second_signal_kills_a_command_that_stays(tmp_path: Path, log: str) -> None:
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAITING
    job = start(tmp_path, sys.executable, "-c", stubborn, log, "600")
    assert job.stdout is not None
    job.stdout.readline()
    terminate(job)
    with pytest.raises(subprocess.TimeoutExpired):
        job.wait(1)
    terminate(job)
    assert "the traces are in" in job.communicate(timeout=60)[1]
    assert job.returncode == 137


def killed_group(job: subprocess.Popen[str]) -> None:
    os.killpg(job.pid, signal.SIGTERM)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups of this kind")
def test_a_signal_to_the_group_ends_the_program_and_what_it_started(
    tmp_path: Path, log: str
) -> None:
    """As a scheduler ends a job: every process of the group gets the signal."""
    starts = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
"""
    job = start(tmp_path, sys.executable, "-c", starts + WAITING, log, "600")
    assert job.stdout is not None
    pids = [int(job.stdout.readline()) for _ in range(2)]
    killed_group(job)
    errors = job.communicate(timeout=60)[1]
    assert job.returncode == 143
    assert "1 process; 1 compile" in errors
    for pid in pids:
        assert has_ended(pid)


def has_ended(pid: int) -> bool:
    """Whether a process has ended; its parent may be gone and nobody may have asked for it."""
    for _ in range(100):
        try:
            status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if status == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits of this kind")
def test_a_limit_on_files_is_reached_while_the_page_is_written(tmp_path: Path, log: str) -> None:
    """The disk's quota, or `ulimit -f`: an error in words, and no half page is left."""
    output = tmp_path / "page.html"
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); "
        "from tclab.__main__ import main; sys.argv[0] = 'tclab'; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, "open", log, "-o", str(output)],
        check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(SRC)},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr and "next: " in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == [LOG]


def test_reading_a_job_imports_nothing_that_compiles(tmp_path: Path, log: str) -> None:
    """Of a small trace, most of the time is that of imports."""
    code = (
        "import sys, pathlib\n"
        "from tclab.cli.command import main\n"
        "sys.argv = ['tclab', 'open', *sys.argv[1:]]\n"
        "assert main() in (0, None)\n"
        "print(*sorted(sys.modules))"
    )
    page = tmp_path / "page.html"
    done = subprocess.run(
        [sys.executable, "-c", code, log, "-o", str(page)],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(SRC)}, check=True,
    )  # fmt: skip
    imported = set(done.stdout.split())
    assert page.exists() and "tclab.jobs.process" in imported
    slow = {"torch", "tclab.targets", "tclab.jobs.machine_code", "concurrent.futures", "logging"}
    assert not imported & slow
    assert not [name for name in imported if name.startswith("tclab.jobs.again")]
