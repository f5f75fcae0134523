"""What bad snippets get: a failed run with a cause, a place and a next step, and no more."""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path

import pytest

from tclab.errors import TclabError
from tclab.model import CAUSES, Run
from tclab.site.engine import events, failures, pool
from tclab.site.engine.worker import supervisor
from tclab.site.snippets.files import read
from tclab.system import processes

from . import runaway

GOOD = """
import tclab
print("fine")
tclab.show("kept", name="kept")
"""


#: Sparse ones count for what they take, which is nothing.
WRITES_MANY_FILES = """
import os, tempfile, time
with open("sparse", "wb") as file:
    file.truncate(2**40)
for number in range(5):
    with open(os.path.join(tempfile.mkdtemp(), "x"), "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 2**28)
time.sleep(60)
"""

#: Eight processes that share 60 MiB with their parent, and add some of their own.
MANY_PROCESSES = """
import os, time
shared = b"x" * (60 * 2**20)
for _ in range(8):
    if os.fork() == 0:
        own = b"x" * ({each} * 2**20)
        time.sleep(2)
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""


def failure(run: Run):
    assert run.failure is not None, run
    assert run.failure.cause in CAUSES
    assert run.failure.next_step
    return run.failure


@pytest.mark.parametrize(
    ("code", "header", "cause", "line", "says"),
    [
        ("def f():\n    1 / 0\nf()", "", "raised", 3, "ZeroDivisionError: division by zero"),
        ("x = 1\nassert x == 2", "", "assertion", 3, "AssertionError: assert x == 2"),
        ("assert 1 > 2, 'one is less'", "", "assertion", 2, "one is less"),
        ("import sys\nsys.exit(0)", "", "exit", 3, "sys.exit(0)"),
        ("raise SystemExit('bye')", "", "exit", 2, "sys.exit('bye')"),
        ("import os\nos._exit(0)", "", "exit", None, "os._exit(0)"),
        ("import os\nos._exit(3)", "", "exit", None, "os._exit(3)"),
        ("import ctypes\nctypes.string_at(0)", "", "signal", 3, "SIGSEGV"),
        ("import os\nos.abort()", "", "signal", 3, "SIGABRT"),
        ("import os\nos.kill(os.getpid(), 9)", "", "signal", None, "SIGKILL"),
        ("while True:\n    pass", "timeout=0.5", "timeout", (3, 4), "after its 0.5 s"),
        ("import time\ntime.sleep(60)", "timeout=0.5", "timeout", 4, "0.5 s"),
        ("k = []\nwhile True:\n    k.append(b'x' * 10**7)", "memory=200", "memory", (4, 5), "200"),
        ("for _ in range(50):\n    print('x' * 2**20)", "", "output", None, "8 MiB"),
        (WRITES_MANY_FILES, "timeout=60", "files", None, "1024 MiB of files"),
        ("import tclab\nfor _ in range(9):\n  tclab.show('x' * 2**22)", "", "raised", 4, "32 MiB"),
        ("raise OSError(28, 'No space left on device')", "", "raised", 2, "No space left"),
        (MANY_PROCESSES.format(each=60), "memory=200", "memory", None, "200 MiB"),
        ("x = 1", "raises=ValueError", "did_not_raise", None, "ended without an error"),
        ("1 / 0", "raises=ValueError", "raised", 3, "should end with ValueError"),
        ("raise KeyboardInterrupt", "", "raised", 2, "KeyboardInterrupt"),
        ("import _gone", "", "raised", 2, "No module named '_gone'"),
    ],
)  # fmt: skip
def test_each_fault_has_its_cause_place_and_next_step(lab, code, header, cause, line, says):
    run = lab.one(code, header)
    found = failure(run)
    assert found.cause == cause
    assert says in found.message
    if isinstance(line, tuple):
        assert found.location.line in line
    elif line:
        assert str(found.location) == f"snippets/t/one.py:{line}"
    error = str(failures.make_error(run))
    assert error.startswith("snippets/t/one.py")
    assert "next: " in error


def test_a_run_with_more_memory_may_write_more_files(lab):
    code = WRITES_MANY_FILES.replace("sleep(60)", "sleep(3)")
    assert lab.one(code, "memory=8192").ok
    assert "1024 MiB of files" in failure(lab.one(code)).message


def test_of_a_long_message_the_beginning_and_the_end_are_told(lab):
    """As of a compiler with a thousand warnings, whose last line says that the disk is full."""
    lines = "first\\n" + "warning\\n" * 1000 + "ld: No space left on device\\nlast"
    run = lab.one(f"raise OSError('{lines}')")
    assert failure(run).message.count("warning") == 1000
    error = str(failures.make_error(run))
    assert error.count("\n") < 40
    assert "OSError: first\n" in error
    assert "… 973 lines …" in error
    assert "\nld: No space left on device\nlast\n  next: free some space in the store" in error


def test_of_a_long_line_the_beginning_and_the_end_are_told(lab):
    run = lab.one("raise ValueError('begin ' + 'x' * 60_000 + ' end')")
    assert len(failure(run).message) > 60_000
    error = str(failures.make_error(run))
    assert len(error) < 1500
    assert "ValueError: begin xxx" in error
    assert " … 59,022 characters … " in error
    assert "xxx end\n" in error


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="no /proc to read")
def test_memory_that_processes_share_counts_once(lab):
    run = lab.one(MANY_PROCESSES.format(each=1), "memory=200")
    assert run.ok, run.failure
    assert run.peak_memory > 200 * 2**20  # as every process shows it


def test_a_deep_hang_is_located(lab):
    code = """
    import time
    def f(n):
        return f(n - 1) if n else time.sleep(60)
    f(300)
    """
    run = lab.one(code, "timeout=0.5")
    assert failure(run).location.code == "return f(n - 1) if n else time.sleep(60)"


def test_a_hang_that_holds_the_interpreter_is_stopped(lab):
    code = "import ctypes\nctypes.PyDLL(None).sleep(60)"  # PyDLL keeps the GIL
    run = lab.one(code, "timeout=0.5")
    assert failure(run).cause == "timeout"
    assert failure(run).location.line == 4


KILLS_THE_SUPERVISOR = """
import os, subprocess, sys, time
below = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"],
                         start_new_session=True)
with open({pids!r}, "a") as file:
    file.write(f"{{os.getpid()}} {{below.pid}} ")
keeper = open(f"/proc/{{os.getppid()}}/stat").read()
os.kill(int(keeper.rpartition(")")[2].split()[1]), 9)
time.sleep(60)
"""


def test_a_snippet_that_kills_the_engine_takes_no_other_with_it(lab):
    """Each that ran is run again alone; what they had started ends with the engine."""
    pids = lab.root / "pids"
    killer = lab.write("t/killer", KILLS_THE_SUPERVISOR.format(pids=str(pids)))
    others = [lab.write(f"t/good_{i}", "import time\ntime.sleep(0.2)" + GOOD) for i in range(3)]
    runs = lab.run(killer, *others, jobs=4)
    assert failure(runs["t/killer"]).cause == "worker"
    assert [runs[s.name].ok for s in others] == [True] * 3
    assert_gone(map(int, pids.read_text().split()))


def assert_gone(pids):
    """All of them end within a while: they hear of it from a process that does."""
    deadline = time.monotonic() + 10
    left = set(pids)
    assert left
    while left and time.monotonic() < deadline:
        left = {pid for pid in left if runaway.state(pid) not in ("", "Z")}
        time.sleep(0.01)
    assert not left


def test_a_warm_process_that_dies_is_done_without(lab, monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("import os\nos._exit(3)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run = lab.one("print('fine')", warm=True)
    assert run.stdout == "fine\n"
    notes = [event.note for event in lab.heard(events.WarmedUp)]
    assert [note.splitlines()[0] for note in notes if note] == [
        "the warm process died; starting cold ones"
    ]


def test_a_warm_process_that_cannot_import_torch_says_why(lab, monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('libgomp is missing')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert lab.one("print('fine')", warm=True).stdout == "fine\n"
    (ready,) = lab.heard(events.WarmedUp)
    assert ready.note == "snippets run in cold processes: ImportError: libgomp is missing"


def test_a_warm_process_that_hangs_is_done_without(lab, monkeypatch, tmp_path):
    """A library that never comes back, in Python or below it; each run then has its own limit."""
    (tmp_path / "torch.py").write_text("import ctypes\nctypes.PyDLL(None).sleep(60)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(pool, "_WARM_UP_SECONDS", 1.0)
    good = lab.write("t/good", "print('fine')")
    bad = lab.write("t/bad", "import torch", "timeout=1")
    runs = lab.run(good, bad, warm=True)
    assert runs["t/good"].stdout == "fine\n"
    assert failure(runs["t/bad"]).cause == "timeout"
    assert str(runs["t/bad"].failure.location) == "snippets/t/bad.py:3"
    note = "".join(event.note for event in lab.heard(events.WarmedUp))
    assert "the warm process died; starting cold ones" in note
    assert "torch.py" in note


def test_who_is_interrupted_again_leaves_nothing_that_goes_on(tmp_path, monkeypatch):
    """As by a second Ctrl-C, while the supervisor is in the midst of its warm-up."""
    workers = pool.Pool(tmp_path / "cache", warm=False)
    warms_up = tmp_path / "python"
    warms_up.write_text("#!/bin/sh\nexec sleep 60\n")
    warms_up.chmod(0o755)
    monkeypatch.setattr(pool.paths, "python_for_compiles", lambda _: str(warms_up))
    workers.start()
    process, folder = workers._process, workers._base

    def interrupted(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(pool.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        workers.close()
    assert process.poll() is not None
    assert not folder.exists()


def test_no_process_at_all_is_one_clear_error(lab, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(TclabError, match="the engine: cannot start a Python process"):
        lab.one("print(1)")


def test_faults_leave_the_others_and_the_earlier_run(lab):
    bad = lab.write("t/bad", GOOD)
    earlier = lab.run(bad)["t/bad"]
    bad = lab.write("t/bad", "1 / 0")
    good = lab.write("t/good", GOOD)
    runs = lab.run(bad, good)
    assert not runs["t/bad"].ok
    assert runs["t/good"].ok
    assert lab.store.load("t/bad") == earlier
    assert lab.store.load_failed("t/bad") == runs["t/bad"]
    lab.run(lab.write("t/bad", GOOD))
    assert lab.store.load_failed("t/bad") is None


def test_output_is_data(lab):
    code = r"""
    import os, subprocess, sys
    print("</script> ``` --8<-- 'x.md' \x1b[31mred\x1b[0m \x1b]8;;http://x\x1b\\link", flush=True)
    os.write(1, b"bad \xff\xfe utf-8\n")
    subprocess.run([sys.executable, "-c", "print('from below')"])
    print("to stderr", file=sys.stderr)
    """
    run = lab.one(code)
    assert run.ok
    assert run.stdout == (
        "</script> ``` --8<-- 'x.md' red link\nbad \\xff\\xfe utf-8\nfrom below\n"
    )
    assert run.stderr == "to stderr\n"
    assert lab.store.load("t/one") == run


def test_artifacts_are_data(lab):
    code = r"""
    import tclab
    tclab.show("</script>\n```\n\x1b[1mbold\x1b[0m \ud800 \x00")
    """
    run = lab.one(code)
    assert run.artifacts[0].text == "</script>\n```\nbold \\ud800 \\x00"
    assert lab.store.load("t/one") == run


def test_what_was_shown_before_a_crash_is_kept(lab):
    run = lab.one("import tclab, os\ntclab.show('first')\nos.abort()")
    assert [a.text for a in run.artifacts] == ["first"]
    assert not run.ok


SHOWS_TWO = """
import os, tclab
tclab.show("first", name="first")
with open(os.environ["TCLAB_JOB"] + "/artifacts.jsonl", "a") as file:
    file.write({line!r})
tclab.show("last", name="last")
"""


@pytest.mark.parametrize(
    "line",
    [
        '{"$kind": "chart", "x": [1], "series": {"a": [1, 2]}}\n',
        '{"$kind": "source-line"}\n',
        '{"$kind": "text", "colour": "red"}\n',
        '{"kind": "text"}\n',
        '{"$kind": "te\n',
        "\ufffd[]\n",
    ],
)
def test_an_artifact_that_cannot_be_read_is_a_failure_and_costs_no_other(lab, line):
    run = lab.one(SHOWS_TWO.format(line=line))
    assert failure(run).cause == "artifact"
    assert "what it showed as number 2 cannot be read back: " in run.failure.message
    assert [a.text for a in run.artifacts] == ["first", "last"]
    assert "next: show only what tclab.show takes" in str(failures.make_error(run))


def test_a_line_that_a_crash_cuts_short_is_no_second_failure(lab):
    run = lab.one(SHOWS_TWO.format(line='{"$kind": "te') + "\nos.abort()")
    assert failure(run).cause == "signal"
    assert [a.text for a in run.artifacts] == ["first"]


def test_what_cannot_be_kept_is_an_error_at_the_line_that_shows_it(lab):
    code = "import tclab\ntclab.show(tclab.Chart(x=(1,), series={'a': (object(),)}))"
    assert failure(lab.one(code)).location.line == 3
    assert "cannot store a object" in lab.one(code).failure.message


@pytest.mark.parametrize("key", ["kind", "$kind", "$file"])
def test_a_users_key_is_a_users_key(lab, key):
    code = f"""
    import tclab
    from tclab.model import KernelFacts
    tclab.show(tclab.Chart(x=(1,), series={{{key!r}: (2,)}}), name="chart")
    facts = KernelFacts(written={{{key!r}: "x"}})
    tclab.show(tclab.Kernel(code="x", facts=facts), name="kernel")
    tclab.show("after", name="after")
    """
    run = lab.one(code)
    assert run.ok, run.failure
    assert [a.name for a in run.artifacts] == ["chart", "kernel", "after"]
    assert dict(run.artifact("chart").series) == {key: (2,)}
    assert dict(run.artifact("kernel").facts.written) == {key: "x"}
    assert lab.store.load("t/one") == run


def test_threads_show_whole_lines(lab):
    code = """
    import tclab
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: tclab.show(str(n) * 200_000, name=f"n{n}"), range(40)))
    """
    run = lab.one(code)
    assert run.ok, run.failure
    assert sorted(len(a.text) for a in run.artifacts) == [200_000] * 10 + [400_000] * 30


def test_processes_left_behind_are_ended(lab):
    code = """
    import subprocess, sys
    wait = "import time; time.sleep(60)"
    for session in (False, True):
        child = subprocess.Popen([sys.executable, "-c", wait], start_new_session=session)
        print(child.pid)
    import time
    time.sleep(0.3)  # the supervisor looks every 25 ms
    """
    run = lab.one(code)
    assert run.ok
    assert [pid for pid in run.stdout.split() if alive(int(pid))] == []


def alive(pid: int) -> bool:
    import time

    for _ in range(100):  # killed is not yet reaped
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True


def test_a_declared_error_is_the_result(lab):
    run = lab.one("1 / 0", "raises=ArithmeticError")  # a base class will do
    assert run.ok
    assert run.raised == "ZeroDivisionError: division by zero"


def test_threads_and_exit_handlers_end_as_in_python(lab):
    code = """
    import atexit, threading, time
    from concurrent.futures import ThreadPoolExecutor
    pool = ThreadPoolExecutor()
    pool.submit(print, "pooled").result()
    atexit.register(print, "at exit")
    threading.Thread(target=lambda: (time.sleep(0.1), print("thread"))).start()
    print("main")
    """
    assert lab.one(code).stdout == "pooled\nmain\nthread\nat exit\n"


def test_a_missing_need_is_skipped_and_said(lab, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    snippet = lab.write("t/gpu", "1 / 0", "needs=cuda")
    assert lab.run(snippet) == {}
    assert lab.heard(events.Skipped) == [events.Skipped("t/gpu", missing=frozenset({"cuda"}))]


def test_no_triton_is_one_clear_error(lab, tmp_path, monkeypatch):
    (tmp_path / "triton.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'triton'\", name='triton')"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = failure(lab.one("import triton"))
    assert found.message == "ModuleNotFoundError: No module named 'triton'"
    assert "pip install the Triton" in found.next_step


def with_fake_torch(lab, folder: Path, **variables: str) -> tuple[int, str]:
    """Status and stderr of a run of the project where the torch that is found is 2.3.1."""
    fake = folder / "fake" / "torch"
    fake.mkdir(parents=True)
    (fake / "__init__.py").touch()
    (fake / "version.py").write_text("__version__ = '2.3.1+cpu'\n")
    code = f"""
    import sys
    from pathlib import Path
    sys.path.insert(0, {str(fake.parent)!r})
    from tclab.site import snippets
    from tclab.site.engine import schedule
    from tclab.site.engine.plan import Plan
    root = Path.cwd()
    runs = schedule.run(snippets.find(root), Plan(root), warm=False)
    assert all(run.ok for run in runs.values())
    """
    process = lab.python(code, **variables)
    _, err = process.communicate()
    return process.returncode, err


def test_an_unknown_torch_is_let_through_on_demand(lab, tmp_path):
    """The other door, of `tclab.capture`: tests/capturing/torch_private."""
    lab.write("t/one", GOOD)
    status, err = with_fake_torch(lab, tmp_path, TCLAB_ANY_TORCH="1")
    assert status == 0, err
    assert lab.store.load("t/one").provenance.torch == "2.3.1+cpu"


def test_an_unsupported_torch_stops_before_anything_runs(lab, tmp_path):
    lab.write("t/one", GOOD)
    status, err = with_fake_torch(lab, tmp_path)
    assert status == 1
    assert "UnsupportedTorch: torch 2.3.1+cpu: this tclab knows PyTorch 2.11 to 2.15" in err
    assert "next: " in err
    assert not lab.store.path.exists()


def test_a_broken_file_is_one_clear_error(lab):
    from tclab.errors import SnippetError

    with pytest.raises(SnippetError, match=r"snippets/t/x\.py:2: not valid Python"):
        lab.write("t/x", "def (:")
    path = lab.root / "snippets/t/x.py"
    path.write_bytes(b'"""\xff"""')
    with pytest.raises(SnippetError, match=r"snippets/t/x\.py: cannot be read"):
        read(path, lab.root)


# --------------------------------------------------------------------------- files and memory

#: Leaves a file in memory, open or mapped while it was looked for.
KEEPS_MEMORY_IN_A_FILE = """
import time
path = "/dev/shm/{name}"
with open(path, "wb", buffering=0) as file:
    for _ in range({mib}):
        file.write(b"x" * 2**20)
        time.sleep(0.002)
    time.sleep(1)
{end}
"""
shm = pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no /dev/shm")


@shm
def test_files_in_memory_count_as_memory_and_go_with_the_run(lab, tmp_path):
    name = f"tclab-test-{tmp_path.name}-{os.getpid()}"
    path = Path("/dev/shm", name)
    code = KEEPS_MEMORY_IN_A_FILE.format(name=name, mib=400, end="time.sleep(60)")
    found = failure(lab.one(code, "memory=300 timeout=60"))
    assert found.cause == "memory"
    assert not path.exists()
    assert lab.one(KEEPS_MEMORY_IN_A_FILE.format(name=name, mib=4, end="")).ok
    assert not path.exists()


@shm
def test_what_others_keep_in_memory_stays(lab, tmp_path):
    name = f"tclab-test-{tmp_path.name}-{os.getpid()}"
    others = Path("/dev/shm", f"{name}-others")
    here = "import pathlib, time\nkept = pathlib.Path({!r})\n"
    makes = f"print(kept.read_text())\nkept.with_name({name!r}).touch()\ntime.sleep(0.5)"
    try:
        others.write_text("before")
        run = lab.one(here.format(str(others)) + makes)
        assert run.stdout == "before\n"
        assert others.read_text() == "before"
    finally:
        others.unlink()
        others.with_name(name).unlink(missing_ok=True)


@shm
def test_semaphores_of_a_run_that_is_ended_go_with_it(lab):
    code = """
    import multiprocessing, time
    lock = multiprocessing.get_context("spawn").Lock()
    print(lock._semlock.name, flush=True)
    time.sleep(60)
    """
    run = lab.one(code, "timeout=2")
    assert failure(run).cause == "timeout"
    assert not Path("/dev/shm", f"sem.{run.stdout.strip().strip('/')}").exists()


def test_the_number_of_files_is_limited(lab, monkeypatch):
    monkeypatch.setattr(failures, "MOST_FILES", 50)
    code = """
    import pathlib, time
    for n in range({}):
        pathlib.Path(str(n)).touch()
    time.sleep(2)
    """
    found = failure(lab.one(code.format(60)))
    assert (found.cause, found.message) == (
        "files",
        "wrote more than 1024 MiB of files, or 50",
    )
    assert lab.one(code.format(40)).ok


@pytest.mark.parametrize(
    ("limit", "code", "option"),
    [
        ("AS", "bytearray(2**32)", "-v"),
        ("NOFILE", "[open('/dev/null') for _ in range(99)]", "-n"),
        ("FSIZE", "open('big', 'wb').write(b'x' * 2**21)", "-f"),
    ],
)
def test_a_limit_of_the_shell_is_named(lab, limit, code, option):
    number = {"AS": 2**31, "NOFILE": 60, "FSIZE": 2**20}[limit]
    sets = f"import resource\nresource.setrlimit(resource.RLIMIT_{limit}, ({number}, {number}))"
    step = failure(lab.one(f"{sets}\n{code}")).next_step
    assert step.endswith(f"may have more than {number:,} (RLIMIT_{limit}): ulimit {option}")


def test_files_of_a_run_that_ends_at_once_are_counted(lab, monkeypatch):
    """It can end before the supervisor has counted them."""
    monkeypatch.setattr(failures, "MOST_FILES", 50)
    code = "import pathlib\nfor n in range({}):\n    pathlib.Path(str(n)).touch()"
    assert failure(lab.one(code.format(60))).cause == "files"
    assert lab.one(code.format(40)).ok


def test_a_file_that_is_removed_and_still_open_counts(lab):
    code = """
    import os, time
    file = open("gone", "wb")
    os.unlink("gone")
    os.posix_fallocate(file.fileno(), 0, 2**30 + 2**20)
    time.sleep(60)
    """
    assert failure(lab.one(code, "timeout=30")).cause == "files"


def test_files_in_the_home_of_a_run_count(lab):
    code = """
    import os, pathlib, time
    file = (pathlib.Path.home() / "big").open("wb")
    os.posix_fallocate(file.fileno(), 0, 2**30 + 2**20)
    time.sleep(60)
    """
    assert failure(lab.one(code, "timeout=30")).cause == "files"


def test_a_folder_with_very_many_files_keeps_nobody_waiting(tmp_path):
    """The limits of all runs are looked at in one loop."""
    (tmp_path / "file").write_bytes(b"x" * 9000)
    (tmp_path / "to").symlink_to("/usr")
    sizes = list(processes.iter_file_sizes([str(tmp_path), str(tmp_path / "to")]))
    assert len(sizes) == 2
    assert 9000 <= sum(sizes) < 20_000
    files, began = supervisor.FileCount(), time.monotonic()
    for _ in range(3):
        files.count(lambda: itertools.repeat(1))  # never ends
    assert time.monotonic() - began < 1
    assert files.exceed(10, 10**9)
    assert files.exceed(10**9, 10)
    assert not files.exceed(10**9, 10**9)


# --------------------------------------------------------------------------- forked processes

#: Forks a process that returns from the file's end, as its parent then does.
FORKS = """
import os, sys, tclab
pid = os.fork()
if pid:
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.mark.parametrize(
    ("both", "cause", "line", "stdout"),
    [
        ("print('end')", None, None, "end\n0\nend\n"),
        ("assert pid", None, None, "1\n"),
        ("# claim: a-parent\nassert pid", None, None, "1\n"),
        ("# claim: a-child\nassert pid == 0", "assertion", 8, "0\n"),
        ("pid or sys.exit(7)", None, None, "7\n"),
        ("pid or sys.exit('bye')", None, None, "1\n"),
        ("pid or os.abort()", None, None, "-6\n"),
        ("tclab.show('x')\nif pid: os._exit(3)", "exit", None, "0\n"),
        ("if pid: os.kill(os.getpid(), 11)", "signal", None, "0\n"),
        ("if not pid: 1 / 0\nos._exit(5)", "exit", None, "1\n"),
        ("import atexit\natexit.register(print, 'bye')", None, None, "bye\n0\nbye\n"),
    ],
)
def test_a_process_that_the_snippet_forks_ends_no_run(lab, both, cause, line, stdout):
    """It ends as Python would end it; the run is its parent's, however that ends."""
    run = lab.one(FORKS + both)
    assert (run.failure and run.failure.cause) == cause, run.failure
    assert run.stdout == stdout
    assert all(claim.reached == 1 for claim in run.claims)
    if line:
        assert run.failure.location.line == line
    assert "tclab" not in run.stderr


@pytest.mark.parametrize(
    ("header", "code", "said"),
    [
        ("", "try:\n  # claim: it\n  assert {}['x']\nexcept KeyError: pass", "raised KeyError"),
        ("raises=KeyError", "# claim: it\nassert {}['x']", "its test raised KeyError: 'x'"),
        ("raises=SystemExit", "# claim: it\nassert exit(3)", "its test raised SystemExit: 3"),
        ("", "def check(): return 1 == 2\n# claim: it\nassert check", "the function check"),
    ],
)
def test_a_claim_whose_test_did_not_come_out_true_fails_the_run(lab, header, code, said):
    run = lab.one(code, header)
    assert said in failure(run).message
    assert [(claim.reached, claim.held) for claim in run.claims] == [(1, False)]


@pytest.mark.parametrize(
    "code",
    [
        "import threading\nt = threading.Thread(target=check)\nt.start()\nt.join()",
        "import threading\nthreading.Timer(0.1, check).start()",
        "import atexit\natexit.register(check)",
    ],
)
def test_an_assert_that_fails_where_python_goes_on_fails_the_run(lab, code):
    found = failure(lab.one(f"def check():\n    assert 1 == 2, 'not so'\n{code}"))
    assert (found.cause, found.location.line) == ("assertion", 3)
    assert "not so" in found.message


def test_another_error_in_a_thread_is_told_and_ends_no_run(lab):
    run = lab.one("import threading\nthreading.Thread(target=lambda: 1 / 0).start()")
    assert run.ok
    assert "ZeroDivisionError" in run.stderr


def test_a_message_of_hundreds_of_megabytes_is_told_in_part(lab):
    run = lab.one("raise ValueError('a/b ' * 40_000_000 + 'end')", "timeout=30")
    assert failure(run).cause == "raised"
    assert run.failure.message.startswith("ValueError: a/b a/b")
    assert run.failure.message.endswith("a/b end")
    assert len(run.failure.message) < 70_000


def test_an_end_that_another_process_wrote_does_not_hide_how_it_died(lab):
    code = """
    import os, pathlib
    end = '{"ended": "returned", "reached": {}, "passed": {}, "broken": {}}'
    pathlib.Path(os.environ["TCLAB_JOB"], "end.json").write_text(end)
    os.kill(os.getpid(), 11)
    """
    assert "SIGSEGV" in failure(lab.one(code)).message


FORKS_PROCESSES_WITH_THREADS = """
import os, signal, threading
import torch

x = torch.ones(1 << 17)
gate = threading.Barrier(6)

def ask():
    gate.wait()
    x.sin()

def child():
    signal.alarm(30)
    threading.excepthook = lambda _: os._exit(9)
    askers = [threading.Thread(target=ask) for _ in range(6)]
    for thread in askers: thread.start()
    for thread in askers: thread.join()
    os._exit(0)

def status():
    pid = os.fork()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if pid else child()

torch.set_num_threads(2)
print({status() for _ in range(40)})
"""


def test_threads_of_a_forked_process_do_not_race_for_pytorchs_pool(lab):
    """Where nobody asked for it before them, half of these processes die of "Invalid thread pool!"
    (PyTorch 2.13, and 2.15 more often).
    """
    assert lab.one(FORKS_PROCESSES_WITH_THREADS).stdout == "{0}\n"


# --------------------------------------------------------------------------- streams


@pytest.mark.parametrize(
    "code",
    [
        "sys.stdout = io.StringIO()",
        "sys.stdout = None",
        "sys.stdout = sys.stderr = sys.__stdout__ = None",
        "sys.stdout.close()",
        "sys.stdout.flush(); os.close(1)",
        "sys.stdout = type('Raises', (io.StringIO,), {'flush': lambda self: 1 / 0})()",
        "sys.stdout = type('Exits', (io.StringIO,), {'flush': lambda self: sys.exit(3)})()",
    ],
)
def test_a_stream_that_a_snippet_spoils_costs_nothing_that_was_printed(lab, code):
    run = lab.one(f"import io, os, sys, tclab\nprint('kept')\n{code}\ntclab.show('shown')")
    assert run.ok, run.failure
    assert run.stdout == "kept\n"
    assert [artifact.text for artifact in run.artifacts] == ["shown"]
