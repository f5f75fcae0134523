"""The warm process: safe to fork, and without a trace in what a snippet shows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tclab.model import encode
from tclab.site.engine import events, variables
from tclab.system import inductor_cache, machine

from . import runaway

SRC = Path(__file__).resolve().parents[2] / "src"

# Of `tclab.site.engine.worker.warm`, which imports torch.
LASTING = {
    "torch._dynamo.logging._step_counter",
    "torch.autograd.function.AUTOGRAD_FUNCTION_COUNTER",
}

# What hangs on numbering: names of compiled functions, of graphs, of kernels; the stream of
# random numbers; threads, which generated C++ names. Forward and backward.
COMPILES = """
import itertools, logging, sys
import torch
import tclab

class Keep(logging.Handler):
    def emit(self, record):
        got.append(str(getattr(record, "metadata", "")))
        got.append(str(getattr(record, "payload", "")))

got = []

@torch.compile(backend="aot_eager")
def f(x):
    y = torch.relu(x) * 2
    torch._dynamo.graph_break()
    return y.sum()

x = torch.ones(4, requires_grad=True)
f(x).backward()
f(torch.ones(5, requires_grad=True)).backward()
counters = {
    f"{owner.__name__}.{name}": repr(value)
    for owner in [m for n, m in sorted(sys.modules.items()) if n.split(".")[0] == "torch" and m]
    for name, value in sorted(vars(owner).items())
    if type(value) is itertools.count
}
from torch._dynamo import convert_frame, utils
from torch.fx.graph_module import _loader
tclab.show(counters, name="counters")
tclab.show({
    "frames": convert_frame.FRAME_COUNTER,
    "fx": _loader.next_id,
    "threads": torch.get_num_threads(),
    "dynamo": {k: dict(v) for k, v in utils.counters.items()},
    "grad": x.grad.tolist(),
}, name="state")
print(torch.initial_seed() != 0)
"""

# PyTorch's own code, which Dynamo has met before: a capture must find the function that runs it.
MET_BEFORE = """
import torch
import tclab

linear, x = torch.nn.Linear(4, 4), torch.ones(2, 4)
torch.compile(linear, backend="eager")(x)
torch.compiler.reset()
torch.compile(linear, backend="eager")(x)
c = tclab.capture(torch.nn.Linear(4, 4), backend="eager")(x)
assert len(c.graphs) == 1
"""


# Started anew, from the file as a plain Python finds it.
SPAWNS = """
import multiprocessing

def double(x):
    return 2 * x

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [1, 2]))
"""


def test_a_warm_run_shows_what_a_cold_one_shows_and_costs_no_compiler(lab, monkeypatch, tmp_path):
    """One warm process for six checks, since warming takes seconds.

    No C++ compiler is on PATH: warming does without, and so do snippets that need none;
    one that needs it gets one clear error. What a fork starts is ended with it.
    """
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert not machine.has_cxx()
    same = lab.write("t/same", COMPILES)
    needs_cxx = lab.write(
        "t/cxx", "import torch\ntorch.compile(lambda x: x.sin() + 1)(torch.ones(4))"
    )
    declared = lab.write("t/declared", "pass", "needs=cxx")
    met = lab.write("t/met", MET_BEFORE)
    log = lab.root / "log"
    hasty = lab.write("t/hasty", runaway.code(log, "time.sleep(60)"), "timeout=1")
    spawns = lab.write("t/spawns", SPAWNS, "timeout=30")
    warm = lab.run(same, needs_cxx, declared, met, hasty, spawns, warm=True)
    (ready,) = lab.heard(events.WarmedUp)
    assert ready.note == ""  # it is safe to fork
    cold = lab.run(same, warm=False, force=True)["t/same"]
    assert warm["t/same"].ok, warm["t/same"].failure
    assert state(warm["t/same"]) == state(cold)
    ours, theirs = counters(warm["t/same"]), counters(cold)
    assert len(theirs) > 5
    # The warm process has imported more; what both have stands where it should.
    numbers = theirs.keys() - LASTING
    assert {name: ours.get(name) for name in numbers} == {name: theirs[name] for name in numbers}

    assert warm["t/met"].ok, warm["t/met"].failure
    assert warm["t/spawns"].stdout == "[2, 4]\n", warm["t/spawns"].failure
    assert warm["t/hasty"].failure.cause == "timeout"
    runaway.assert_over(log)

    failure = warm["t/cxx"].failure
    assert failure.location.line == 3
    assert "install a C++ compiler" in failure.next_step
    assert lab.heard(events.Skipped) == [events.Skipped("t/declared", missing=frozenset({"cxx"}))]


def state(run):
    return encode(run.artifact("state")), run.stdout


def counters(run) -> dict[str, str]:
    return dict(run.artifact("counters").rows)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc to count threads in")
def test_a_thread_that_forbids_forks_is_named_and_a_progress_bars_is_ended(tmp_path):
    code = """
    import threading
    from tclab.site.engine.worker import warm

    class TMonitor(threading.Thread):
        __module__ = "tqdm._monitor"  # as tqdm has it
        def __init__(self):
            super().__init__(daemon=True)
            self.was_killed = threading.Event()
        def run(self):
            self.was_killed.wait()
        def exit(self):
            self.was_killed.set()
            self.join()

    TMonitor().start()
    warm._end_monitors()
    print(warm.fork_problem())
    threading.Thread(target=threading.Event().wait, name="waits", daemon=True).start()
    print(warm.fork_problem())
    """
    env = variables.all_variables(cache(tmp_path)) | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    out = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    assert out.stdout == "\nit has 2 threads: waits (threading.Thread)\n"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc to count threads in")
def test_a_thread_of_cudas_driver_forbids_no_fork_where_no_gpu_is_visible(tmp_path):
    """As a CUDA build of PyTorch starts one, at its first fake tensor, though it sees no GPU."""
    code = """
    import ctypes, threading
    from tclab.site.engine.worker import warm

    def waits(name):
        ctypes.CDLL(None).prctl(15, name, 0, 0, 0)  # PR_SET_NAME, of this thread
        named.set()
        threading.Event().wait()

    for name in (b"cuda00001400006", b"another"):
        named = threading.Event()
        threading.Thread(target=waits, args=(name,), daemon=True).start()
        named.wait()
        print(warm.fork_problem())
    """
    env = variables.all_variables(cache(tmp_path)) | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    out = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    safe, unsafe = out.stdout.splitlines()
    assert safe == ""
    assert unsafe.startswith("it has 2 threads: ")


#: In a fork of the warm process: what it inherited, then a first kernel.
LOOKS_INTO_THE_FORK = """
import json, os
import torch
files = [os.path.realpath(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")]
print(json.dumps([torch.cuda.is_initialized(), [f for f in files if "nvidia" in f]]))
torch.compile(lambda x: x.sin() + 1)(torch.ones(4))
"""


#: In a timed snippet: what its cache holds, and how many files Inductor compiles to know the CPU.
LOOKS_INTO_ITS_CACHE = """
import json, os, pathlib, subprocess
cache = pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
files = sorted(path.name for path in cache.rglob("*.*"))
from torch._inductor import codecache, cpu_vec_isa
started, popen = [], subprocess.Popen.__init__
def note(self, args, *rest, **options):
    started.append(str(args))
    popen(self, args, *rest, **options)
subprocess.Popen.__init__ = note
cpu_vec_isa.valid_vec_isa_list()
print(json.dumps([files, sum(".cpp'" in args for args in started)]))
"""


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++ on PATH")
def test_a_full_warm_up_is_safe_to_fork_and_a_timed_snippet_is_lent_what_was_tried(lab):
    """After the warm-up, Inductor's compile included, the process has one thread and no CUDA.

    Its forks left files in an empty cache, of which Inductor asks no compiler again. A timed
    snippet's cache is its own: these files, and no kernel of another snippet.
    """
    kernel = lab.write("t/kernel", LOOKS_INTO_THE_FORK)
    timed = lab.write("t/timed", LOOKS_INTO_ITS_CACHE, "alone=true")
    runs = lab.run(kernel, timed, warm=True)
    (ready,) = lab.heard(events.WarmedUp)
    assert ready.note == ""  # no other thread
    assert runs["t/kernel"].ok, runs["t/kernel"].failure
    assert json.loads(runs["t/kernel"].stdout) == [False, []]
    assert runs["t/timed"].ok, runs["t/timed"].failure
    files, compiled = json.loads(runs["t/timed"].stdout)
    assert compiled == 0
    trials = inductor_cache.cpu_trials(lab.store.cache / "inductor")
    assert files == sorted(path.name for path in trials)
    assert not any("main" in name for name in files)  # a kernel's
    assert files or os.uname().machine != "x86_64"


def cache(tmp_path: Path) -> Path:
    """Return the project's cache of compiled objects where there is one: it only saves time."""
    project = Path(os.environ.get("TCLAB_STORE") or SRC.parent / ".tclab") / "cache"
    return project if os.access(project, os.W_OK) else tmp_path
