"""What a command says when something goes wrong around it: one table, one runner.

Each row is a command in a process of its own, with a fault. It ends with the status of the row,
says what the row says and what to do next, shows no traceback and leaves nothing behind.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tclab.cli import command
from tclab.cli.explaining import child
from tclab.explain import Report
from tclab.model import Breaks, Provenance, Recompiles, Symbols
from tests.nightly import one_in

SRC = Path(command.__file__).resolve().parents[2]
ROOT = SRC.parent

MODEL = """\
import ctypes
import os
import time


def plain(x):
    return x + 1


def leaves(x):
    os._exit(0)


def crashes(x):
    ctypes.string_at(0)


def crashes_beside_a_thread(x):
    import threading

    threading.Thread(target=sleeps, args=(x,)).start()
    ctypes.string_at(0)


def forks_and_leaves(x):
    if os.fork():
        os.wait()
        os._exit(0)
    return x


def sleeps(x):
    print("asleep", os.getpid(), flush=True)
    time.sleep(600)
"""
SNIPPET = '"""Say … in ASCII."""\n\nimport tclab\n\ntclab.show("… kept", name="kept")\n'
ANSWER = """\
class Speechless(Exception):
    def __str__(self):
        raise ValueError("no words")


def slowest_phase(times):
    raise Speechless


def stages(fn, x):
    return sorted
"""
X = ("-i", "f32[2]")


@dataclass
class Row:
    """A command line, and what it comes to. `small`: a disk of so many KiB is mounted at ``disk/``;
    `files`: what is written before; `there`: what must be as it was afterwards; `stdout`: a file
    that gets it.
    """

    words: tuple[str, ...]
    status: int
    says: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    small: int = 0
    there: tuple[str, ...] = ()
    stdout: str = ""


def report(title: str) -> str:
    """Return a report with as good as nothing in it, as JSON."""
    made = Provenance("2.13.0", "", "3.11", "a CPU", "Linux", "2026-11-21")
    return Report(
        title=title, calls=(), target="", backward=False, remarks=(), sources=(), breaks=Breaks(),
        recompiles=Recompiles(), symbols=Symbols(), guards=(), chains=(), provenance=made,
    ).to_json()  # fmt: skip


NO_TORCH = {"no_torch/torch/__init__.py": "raise ImportError('libgomp.so.1: cannot open')\n"}
REPORTS = {"a.json": report("x" * 9000), "b.json": report("y" * 9000)}
FULL = {"disk/filled": "x" * 48 * 1024}

ROWS = {
    # the user's function ends the process
    "explain, left with 0": Row(
        ("explain", "m.py:leaves", *X), 1, ("left with os._exit(0)", "no report was written")),
    "explain, crash": Row(
        ("explain", "m.py:crashes", *X), 1, ("m.py:15 (ctypes.string_at(0)): ", "by SIGSEGV")),
    "explain, crash beside another thread, and no columns": Row(
        ("explain", "m.py:crashes_beside_a_thread", *X), 1,
        ("m.py:22 (ctypes.string_at(0)): ", "by SIGSEGV"), {"COLUMNS": "0"}),
    "explain, a report that stdout does not take": Row(
        ("explain", "m.py:plain", *X, "--format", "json"), 1,
        ("stdout: the report cannot be written: No space left", "--output"), stdout="/dev/full"),
    "diff, a table that stdout does not take": Row(
        ("diff", "a.json", "b.json"), 1,
        ("stdout: No space left on device", "send stdout to another disk"), files=REPORTS,
        stdout="/dev/full"),
    "explain, a fork that returns": Row(
        ("explain", "m.py:forks_and_leaves", *X, "-o", "x.html"), 1, ("os._exit(0)",)),
    "explain, eval mode of a function": Row(
        ("explain", "m.py:plain", *X, "--eval"), 1,
        ("m.py:plain: --eval: only an nn.Module has an eval mode", "name the module")),
    "explain, a module that refuses to be looked at": Row(
        ("explain", "odd.py:f", *X), 1, ("odd.py:2 (raise RuntimeError(n))", "RuntimeError: "),
        files={"odd.py": "def __getattr__(n):\n    raise RuntimeError(n)\n"}),
    "explain, a signature that raises": Row(
        ("explain", "odd.py:f", *X), 1, ("odd.py:4 (raise OSError('mine'))", "OSError: mine"),
        files={"odd.py": "class F:\n    @property\n    def __signature__(self):\n"
               "        raise OSError('mine')\n    def __call__(self, x):\n        return x\n"
               "f = F()"}),
    "explain, a file that replaces tclab": Row(
        ("explain", "odd.py:f", *X), 1, ("odd.py: it replaces the module tclab", "another name"),
        files={"odd.py": "import sys, types\nsys.modules['tclab'] = types.ModuleType('tclab')\n"
               "def f(x):\n    return x"}),
    "explain, a builtin without inputs": Row(
        ("explain", "torch:sin"), 2, ("torch:sin: there are no inputs for it", "f32[8,16]")),
    "explain, what is no Python file": Row(
        ("explain", "nb.ipynb:f", *X), 2, ("nb.ipynb: it is no Python file",),
        files={"nb.ipynb": "{}"}),
    "check, a list that is not there": Row(
        ("check", "no_such.toml"), 2, ("no_such.toml: there is no such file", "[[function]]")),
    "check, a list that is a device": Row(
        ("check", "/dev/null"), 2, ("/dev/null: it is no file", "[[function]]")),
    "explain, a package without __init__.py": Row(
        ("explain", "nsp/uses.py:f", *X), 1,
        ("nsp/uses.py:1 (from . import sib)", "an __init__.py beside it", "nsp.uses:NAME"),
        files={"nsp/uses.py": "from . import sib\ndef f(x):\n    return x\n",
               "nsp/sib.py": ""}),
    "diff, lists without end": Row(
        ("diff", "deep.json", "deep.json"), 2, ("deep.json: not a report: ",),
        files={"deep.json": "[" * 300_000}),
    # PyTorch
    "explain, a torch that cannot be imported": Row(
        ("explain", "m.py:plain", *X), 1, ("PyTorch cannot be imported: ImportError: libgomp.so.1",
        "import torch"), {"PYTHONPATH": f"no_torch:{SRC}"}, NO_TORCH),
    "explain, a PyTorch that reads its own files as ASCII": Row(
        ("explain", "m.py:plain", *X), 1,
        ("PyTorch: its compiler cannot be imported: UnicodeDecodeError", "set LC_ALL=C.UTF-8"),
        {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}),
    "upgrade, a cache that cannot be written": Row(
        ("upgrade", "m.py:plain", *X, "--to", "2.15.0"), 1,
        ("/proc/tclab/environments: no environment can be made there", "XDG_CACHE_HOME"),
        {"XDG_CACHE_HOME": "/proc"}),
    # disks
    "explain, no room for temporary files": Row(
        ("explain", "m.py:plain", *X), 1, ("the disk is full", "free some space", "TMPDIR"),
        {"TMPDIR": "disk", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}, FULL, 64),
    "explain, no room for the report": Row(
        ("explain", "m.py:plain", *X, "-o", "disk/old"), 1, ("--output disk/old", "No space left"),
        {}, {"disk/old": "old"}, 64, ("disk/old",)),
    "diff, no room": Row(
        ("diff", "a.json", "b.json", "-o", "disk/old"), 1, ("--output disk/old", "No space left"),
        {}, {**REPORTS, "disk/old": "old", **FULL}, 64, ("disk/old",)),
    "record, no room": Row(
        ("record", "gpu-x", "hello"), 1, ("No space left on device", "free some space"),
        {}, {"disk/filled": "x" * 64 * 1024}, 64),
    "bench, no room": Row(
        ("bench", "--suite", "cpu", "--only", "row_sum", "--out", "disk", "--budget", "9"), 1,
        ("No space left on device", "make room"), {}, {"disk/filled": "x" * 64 * 1024}, 64),
    # wrong input
    "bench, nothing to compare with": Row(
        ("bench", "--suite", "cpu", "--only", "row_sum", "--compare", "/nonexistent"), 1,
        ("/nonexistent", "name a .jsonl file")),
    "bench, a file for a folder": Row(
        ("bench", "--suite", "cpu", "--only", "row_sum", "--out", "m.py"), 1,
        ("m.py", "File exists"), there=("m.py",)),
    "lab, a folder for a file": Row(
        ("lab", "check", "1", "snippets"), 1, ("there is no such file",),
        {"TCLAB_ROOT": str(ROOT)}),
    # hostile text
    "lab, an error that raises when it is asked": Row(
        ("lab", "check", "1", "answer.py", "slowest_phase"), 1, ("checking answer.py",),
        {"TCLAB_ROOT": str(ROOT)}, {"answer.py": ANSWER}, there=("answer.py",)),
}  # fmt: skip


@dataclass
class Place:
    """A working folder that is a project, too."""

    root: Path

    def start(
        self, *words: str, stdout: Any = subprocess.PIPE, **variables: str
    ) -> subprocess.Popen[str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("TCLAB_")}
        env |= {"PYTHONPATH": str(SRC), "TCLAB_ROOT": str(self.root), "COLUMNS": "500"} | variables
        return subprocess.Popen(
            [sys.executable, "-m", "tclab", *words], env=env, cwd=self.root, text=True,
            stdout=stdout, stderr=subprocess.PIPE)  # fmt: skip

    def run(self, *words: str, stdout: str = "", **variables: str) -> tuple[int, str, str]:
        """Status, stdout and stderr; `stdout` is a file that gets it."""
        with open(stdout or os.devnull, "w") as file:
            process = self.start(*words, stdout=file if stdout else subprocess.PIPE, **variables)
            out, err = process.communicate(timeout=300)
        return process.returncode, out or "", err

    def files(self) -> set[str]:
        every = (p for p in self.root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
        return {str(path.relative_to(self.root)) for path in every}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "mkdocs.yml").touch()
    (tmp_path / "snippets/t").mkdir(parents=True)
    (tmp_path / "snippets/t/hello.py").write_text(SNIPPET, encoding="utf-8")
    (tmp_path / "m.py").write_text(MODEL)
    return Place(tmp_path)


@pytest.fixture
def mounted(place: Place) -> Iterator[Callable[[int], Any]]:
    """A function that mounts a small disk at ``disk/``."""
    disk = place.root / "disk"

    def mount(kib: int) -> None:
        disk.mkdir()
        how = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", str(disk)]
        if os.getuid() or subprocess.run(how, capture_output=True, check=False).returncode:
            pytest.skip(
                "no small disk can be mounted here: that takes root, and the right to mount"
            )

    yield mount
    if os.path.ismount(disk):
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.parametrize("name", one_in(2, ROWS))
def test_each_fault_is_said_with_a_next_step(name: str, place: Place, mounted: Any) -> None:
    row = ROWS[name]
    if row.small:
        mounted(row.small)
    for file, text in row.files.items():
        (place.root / file).parent.mkdir(parents=True, exist_ok=True)
        (place.root / file).write_text(text)
    if name.startswith("record"):
        (place.root / "records").symlink_to("disk")
    before = {file: (place.root / file).read_text() for file in row.there}
    status, out, err = place.run(*row.words, stdout=row.stdout, **row.variables)
    assert status == row.status, out + err
    for part in row.says:
        assert part in err, err
    assert "Traceback" not in err and "fault of tclab" not in out + err
    assert "next: " in err or "next: " in out or row.words[0] == "lab"
    assert {file: (place.root / file).read_text() for file in row.there} == before
    assert not [file for file in place.files() if file.endswith((".html", ".new"))]


def test_an_exercise_after_one_that_raises_when_it_is_asked_is_judged(place: Place) -> None:
    (place.root / "answer.py").write_text(ANSWER)
    words = ("lab", "check", "1", "answer.py", "slowest_phase", "stages")
    _, out, _ = place.run(*words, TCLAB_ROOT=str(ROOT))
    assert "Speechless: its __str__ raised ValueError" in out
    assert "the check ended before this was judged" not in out


# --------------------------------------------------------------------------- killed, interrupted


def started_and_asleep(place: Place) -> tuple[subprocess.Popen[str], int]:
    """``tclab explain`` of a function that sleeps, and the process that this is in."""
    process = place.start("explain", "m.py:sleeps", *X, "-o", "x.html")
    assert process.stderr is not None
    line = next(line for line in process.stderr if line.startswith("asleep"))
    return process, int(line.split()[1])


def gone(pid: int) -> bool:
    """Return whether a process ends within a while."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_explain_ends_all_of_it(place: Place, number: int) -> None:
    process, pid = started_and_asleep(place)
    process.send_signal(number)
    assert process.wait(60) == -number
    assert gone(pid)
    assert "x.html" not in place.files()


# --------------------------------------------------------------------------- what is printed


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_that_lacks_a_character_gets_an_escape(place: Place, encoding: str) -> None:
    status, out, err = place.run("list", PYTHONIOENCODING=encoding)
    assert status == 0, err
    assert ("…" if encoding == "utf-8" else "\\u2026") in out


LOUD = """\
import atexit, ctypes, os, subprocess, threading, time

def forever():
    while True:
        print("in a thread")
        time.sleep(0.1)

print("at import")
ctypes.CDLL(None).puts(b"in C")
subprocess.run(["echo", "in a child"])
atexit.register(print, "at the end")
threading.Thread(target=forever).start()

def f(x):
    print("in the call")
    return x + 1

def example_inputs():
    import torch
    os.write(1, b"in example_inputs\\n")
    return torch.ones(3),
"""


def test_stdout_is_the_reports_alone_and_a_thread_that_goes_on_ends(place: Place) -> None:
    (place.root / "loud.py").write_text(LOUD)
    status, out, err = place.run("explain", "loud.py:f", "--format", "json")
    assert status == 0, err
    assert Report.from_json(out).title == "f"
    where = ("at import", "in C", "in a child", "in example_inputs", "in the call", "in a thread")
    assert [said for said in where if said not in err] == []


# --------------------------------------------------------------------------- two at once


def test_two_reports_into_one_file_leave_one_that_is_whole(place: Place) -> None:
    for name in ("a", "b"):
        (place.root / f"{name}.json").write_text(report(name))
    both = [place.start("diff", "a.json", "b.json", "-o", "both.html") for _ in range(2)]
    assert [process.wait(300) for process in both] == [3, 3]  # their reports have no snapshot
    assert (place.root / "both.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert {file for file in place.files() if "both" in file} == {"both.html"}


def test_two_recordings_at_once_leave_one_that_holds(place: Place) -> None:
    both = [place.start("record", "gpu-x", "hello") for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, out + err
    status, out, err = place.run("show", "hello", "--env", "gpu-x")
    assert status == 0 and "kept" in out, err
    assert "broken" not in place.run("list")[1]


# --------------------------------------------------------------------------- where it is written


@pytest.mark.skipif(os.getuid() != 0, reason="only root makes devices")
def test_a_device_stays_one(place: Place) -> None:
    for name in ("a", "b"):
        (place.root / f"{name}.json").write_text(report(name))
    os.mknod(place.root / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    status, _, err = place.run("diff", "a.json", "b.json", "-o", "null")
    assert status == 3, err  # their reports have no snapshot
    assert stat.S_ISCHR((place.root / "null").lstat().st_mode)


HANGS = """
import threading, time
from tclab.cli.explaining import child

def work():
    child.limit_seconds(1)
    thread = threading.Thread(target=time.sleep, args=(99,))
    thread.start()
    thread.join()
    return 0

raise SystemExit(child.run(work))
"""


def test_what_hangs_ends_with_the_line_of_the_main_thread(tmp_path: Path) -> None:
    """The limit is that of --seconds, which stands around the import of PyTorch, too."""
    (tmp_path / "odd.py").write_text(HANGS)
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    done = subprocess.run(
        [sys.executable, "odd.py"], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    place = "odd.py:9 (thread.join()): it did not end within 1 s; no report was written"
    assert place in done.stderr and "--seconds N" in done.stderr


def test_a_limit_of_seconds_reaches_no_process_that_is_not_the_command() -> None:
    child.limit_seconds(0.01)
    time.sleep(0.1)
