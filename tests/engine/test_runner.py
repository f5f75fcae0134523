"""Running many: what is stale, who waits, what is left when the runner dies."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tclab.errors import StoreError
from tclab.site.engine import events, record, schedule, variables
from tclab.site.engine.local_work import LocalWork
from tclab.site.store import dependencies, keys
from tclab.site.store.local_runs import Store
from tclab.system import machine


def counting(lab, name: str = "t/counting", extra: str = "") -> tuple:
    """Return a snippet that adds a line to a file each time it runs, and that file."""
    log = lab.root / f"{name.replace('/', '-')}.log"
    code = f"open({str(log)!r}, 'a').write('ran\\n')\n{extra}"
    return lab.write(name, code), log


def times(log: Path) -> int:
    return log.read_text().count("ran") if log.exists() else 0


def test_only_what_is_stale_runs(lab):
    snippet, log = counting(lab)
    first = lab.run(snippet)
    assert lab.run(snippet) == first
    assert times(log) == 1
    lab.run(snippet, force=True)
    assert times(log) == 2
    snippet, _ = counting(lab, extra="x = 1")
    lab.run(snippet)
    assert times(log) == 3


def test_nothing_stale_starts_nothing(lab):
    snippet, _ = counting(lab)
    lab.run(snippet)
    lab.events.clear()
    lab.run(snippet)
    assert lab.events == []


def test_an_include_makes_stale(lab):
    (lab.root / "snippets/t").mkdir()
    include = lab.root / "snippets/t/_shared.py"
    include.write_text("value = 1\n")
    code = "from _shared import value\nprint(value)"
    assert lab.one(code).stdout == "1\n"
    include.write_text("value = 2\n")
    assert lab.one(code).stdout == "2\n"


@pytest.mark.parametrize("name", ["TORCH_LOGS", "TRITON_INTERPRET", "KMP_AFFINITY"])
def test_variables_make_stale(lab, monkeypatch, name):
    snippet, log = counting(lab)
    lab.run(snippet)
    monkeypatch.setenv(name, "7")
    lab.run(snippet)
    assert times(log) == 2


@pytest.mark.parametrize("alone", ["false", "true"])
def test_threads_of_who_starts_the_engine_do_not_reach_a_snippet(lab, monkeypatch, alone):
    """So what ``make test`` runs, with one thread for its own workers, ``make site`` shows."""
    code = """
    import os
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "KMP_BLOCKTIME")
    print([os.environ.get(name) for name in names])
    """
    snippet = lab.write("t/threads", code, f"alone={alone}")
    monkeypatch.setenv("KMP_BLOCKTIME", "0")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    without = lab.run(snippet)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MKL_NUM_THREADS", "1")
    assert lab.run(snippet) == without
    again = lab.run(snippet, force=True)["t/threads"]
    assert again.stdout == "[None, None, '0']\n"
    assert again.provenance.variables["KMP_BLOCKTIME"] == "0"
    assert not {"OMP_NUM_THREADS", "MKL_NUM_THREADS"} & set(again.provenance.variables)


def test_an_include_that_changes_while_it_is_run_makes_that_run_stale(lab):
    (lab.root / "snippets/t").mkdir()
    include = lab.root / "snippets/t/_shared.py"
    include.write_text("value = 1\n")
    code = f"""
    from _shared import value
    open({str(include)!r}, "w").write("value = 2")
    print(value)
    """
    snippet = lab.write("t/one", code)
    assert lab.run(snippet)["t/one"].stdout == "1\n"
    status = lab.plan().local_status(snippet)
    assert status.state == "stale"
    assert (
        "snippets/t/_shared.py was written after the run began: edited meanwhile" in status.why[0]
    )


def test_a_damaged_run_is_run_again(lab):
    snippet, log = counting(lab, extra="print('hello')")
    first = lab.run(snippet)["t/counting"]
    (lab.store.folder("t/counting") / "stdout.txt").write_text("edited")
    with pytest.raises(StoreError, match=r"t/counting/stdout\.txt: was truncated or edited"):
        lab.store.load("t/counting")
    assert lab.run(snippet)["t/counting"].stdout == first.stdout
    assert times(log) == 2


def once(lab, cause: str) -> tuple:
    """Return a snippet that fails by `cause` while the file `bad` is there, and that file."""
    bad = lab.root / "bad"
    code = f"import os, pathlib\nif pathlib.Path({str(bad)!r}).exists():\n    {cause}\nprint(1)"
    return lab.write("t/once", code), bad


@pytest.mark.parametrize(
    "cause", ["assert 1 == 2", "os._exit(1)", "os.kill(os.getpid(), 9)", "raise ValueError"]
)
def test_a_failure_revokes_the_success_before_it_and_a_success_the_failure(lab, cause):
    snippet, bad = once(lab, cause)
    first = lab.run(snippet)
    bad.touch()
    assert not lab.run(snippet, force=True)["t/once"].ok
    plan = lab.plan()
    assert (plan.local_status(snippet).state, plan.snippets_to_run([snippet])) == (
        "failed",
        [snippet],
    )
    assert plan.fresh_run(snippet) is None
    assert not lab.run(snippet)["t/once"].ok
    bad.unlink()
    assert lab.run(snippet)["t/once"].stdout == first["t/once"].stdout
    assert lab.plan().local_status(snippet).fresh


def test_a_failure_of_another_source_revokes_nothing(lab):
    snippet, _ = once(lab, "pass")
    lab.run(snippet)
    lab.run(lab.write("t/once", "assert 1 == 2"))
    assert lab.plan().local_status(once(lab, "pass")[0]).fresh


def test_a_failure_of_other_variables_revokes_nothing(lab, monkeypatch):
    snippet, bad = once(lab, "raise ValueError")
    lab.run(snippet)
    bad.touch()
    with monkeypatch.context() as set_for_now:
        set_for_now.setenv("TORCH_LOGS", "7")
        assert not lab.run(snippet)["t/once"].ok
        assert lab.plan().local_status(snippet).state == "failed"
    assert lab.plan().local_status(snippet).fresh


def test_a_failure_that_is_damaged_has_the_snippet_run_again(lab):
    snippet, bad = once(lab, "raise ValueError")
    lab.run(snippet)
    bad.touch()
    lab.run(snippet, force=True)
    bad.unlink()
    (lab.store.path / "failed/t/once/run.json").write_text("{}")
    assert lab.plan().local_status(snippet).state == "failed"
    assert lab.run(snippet)["t/once"].ok
    assert lab.plan().local_status(snippet).fresh


def test_a_recording_that_fails_is_the_last_word_of_this_machine(lab):
    snippet, bad = once(lab, "raise ValueError")
    lab.run(snippet)
    bad.touch()
    assert not record.record(lab.plan(), "cpu-x", [snippet], force=True)["t/once"].ok
    assert lab.plan().local_status(snippet).state == "failed"
    assert lab.plan().recorded_status(snippet, "cpu-x").state == "never"


def test_two_builds_at_once_run_each_snippet_once(lab):
    logs = [counting(lab, f"t/n{i}", "import time; time.sleep(0.3)")[1] for i in range(3)]
    build = """
    from pathlib import Path
    from tclab.site import snippets
    from tclab.site.engine import schedule
    from tclab.site.engine.plan import Plan
    root = Path.cwd()
    runs = schedule.run(snippets.find(root), Plan(root), jobs=2, warm=False)
    assert len(runs) == 3 and all(run.ok for run in runs.values())
    """
    builds = [lab.python(build), lab.python(build)]
    errors = [process.communicate()[1] for process in builds]
    assert [process.returncode for process in builds] == [0, 0], errors
    assert [times(log) for log in logs] == [1, 1, 1]


def test_what_another_build_ran_since_the_plan_is_taken(lab):
    snippet, log = counting(lab)
    told = []

    def meanwhile(event):
        told.append(event)
        if isinstance(event, events.Planned):
            schedule.run([snippet], lab.plan(), warm=False)

    runs = schedule.run([snippet], lab.plan(), on_event=meanwhile, warm=False)
    assert times(log) == 1
    assert runs["t/counting"].ok
    assert events.Reused("t/counting") in told


def test_the_parent_killed_leaves_nothing_behind(lab):
    code = """
    import os, subprocess, sys, time
    wait = "import time; time.sleep(100)"
    below = [subprocess.Popen([sys.executable, "-c", wait], start_new_session=s) for s in (0, 1)]
    pids = [os.getppid(), os.getpid(), *(p.pid for p in below)]
    time.sleep(0.2)
    open("{0}.new", "w").write(" ".join(map(str, pids)))
    os.rename("{0}.new", "{0}")
    time.sleep(100)
    """.replace("{0}", str(lab.root / "pids"))
    kept = lab.write("t/kept", "print('kept')")
    lab.run(kept)
    lab.write("t/stuck", code)
    parent = lab.python("""
    from pathlib import Path
    from tclab.site import snippets
    from tclab.site.engine import schedule
    from tclab.site.engine.plan import Plan
    root = Path.cwd()
    schedule.run(snippets.find(root), Plan(root), warm=False)
    """)
    assert wait_for((lab.root / "pids").exists)
    pids = [int(pid) for pid in (lab.root / "pids").read_text().split()]
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    assert wait_for(lambda: not any(map(running, pids)))
    assert lab.store.load("t/kept").stdout == "kept\n"
    assert lab.store.load("t/stuck") is None
    assert lab.run(lab.write("t/stuck", "print('now')"))["t/stuck"].ok  # its lock is free


def wait_for(condition, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_store_that_cannot_be_written_is_one_error_and_the_runs_are_there(lab):
    (lab.root / "file").touch()
    store = Store(lab.root / "file" / "below")
    a, b = lab.write("t/a", "print('a')"), lab.write("t/b", "print('b')")
    with pytest.raises(schedule.StoreFailed) as caught:
        lab.run(a, b, store=store)
    assert "Not a directory" in caught.value.cause
    assert caught.value.next_step
    assert {name: run.stdout for name, run in caught.value.runs.items()} == {
        "t/a": "a\n",
        "t/b": "b\n",
    }
    assert len(lab.heard(events.SaveFailed)) == 2


def test_snippets_run_side_by_side_and_timed_ones_alone(lab):
    code = """
    import time
    print(time.monotonic())
    time.sleep(0.4)
    print(time.monotonic())
    """
    chosen = [
        lab.write("t/timed", code, "alone=true"),
        lab.write("t/x", code),
        lab.write("t/y", code),
    ]
    runs = lab.run(*chosen, jobs=3)
    spans = {name: tuple(map(float, run.stdout.split())) for name, run in runs.items()}
    (timed, x, y) = (spans[snippet.name] for snippet in chosen)
    assert overlap(x, y)
    assert not overlap(timed, x)
    assert not overlap(timed, y)


@pytest.mark.parametrize(
    ("header", "holds_from", "ok", "runs"),
    [
        ("alone=true", 2, True, 2),
        ("alone=true", 3, False, 2),
        ("needs=cuda", 2, True, 2),
        ("", 2, False, 1),
    ],
)
def test_what_takes_times_is_measured_once_more(lab, monkeypatch, header, holds_from, ok, runs):
    monkeypatch.setattr(machine, "has_cuda", lambda: True)
    log = lab.root / "runs.log"
    code = f"""
    from pathlib import Path
    log = Path({str(log)!r})
    log.open("a").write("ran\\n")
    # claim: quick-enough
    assert log.read_text().count("ran") >= {holds_from}
    """
    run = lab.run(lab.write("t/timed", code, header))["t/timed"]
    assert (run.ok, times(log)) == (ok, runs)
    again = lab.heard(events.Remeasured)
    assert [event.run.failure.message.split()[0] for event in again] == ["quick-enough"] * (
        runs - 1
    )
    assert len(lab.heard(events.Finished)) == 1


def test_what_a_gpu_rejects_is_measured_again_alone(lab, monkeypatch):
    """It ran beside others, on the CPU's cores, and waits for them the second time."""
    monkeypatch.setattr(machine, "has_cuda", lambda: True)
    log = lab.root / "runs.log"
    code = f"""
    from pathlib import Path
    log = Path({str(log)!r})
    log.open("a").write("gpu\\n")
    # claim: alone
    assert log.read_text().split()[-2:] == ["cpu", "gpu"]
    """
    beside = f"""
    import time
    from pathlib import Path
    log = Path({str(log)!r})
    while not log.exists():
        time.sleep(0.01)
    time.sleep(2)
    log.open("a").write("cpu\\n")
    """
    chosen = lab.write("t/gpu", code, "needs=cuda"), lab.write("t/cpu", beside)
    assert all(run.ok for run in lab.run(*chosen, jobs=2).values())
    assert log.read_text().split() == ["gpu", "cpu", "gpu"]


def test_what_comes_after_one_that_wants_to_be_alone_waits_for_it(lab):
    """As on a worker, which is given more while one waits to be measured again."""
    work = LocalWork(lab.plan(), "here", events.ignore_event, False, lambda run: None, width=2)
    runs = work.add(lab.write("t/runs", "pass"))
    work.todo.remove(runs)
    work.running[runs.number] = runs
    again = work.add(lab.write("t/again", "pass"))
    again.solo = True
    work.add(lab.write("t/later", "pass"))
    assert work._next_job() is None
    work.running.clear()
    assert work._next_job() is again
    again.release()


def test_what_fails_otherwise_is_not_measured_again(lab):
    snippet, log = counting(lab, extra="raise RuntimeError('no')")
    assert not lab.run(lab.write(snippet.name, snippet.source, "alone=true"))[snippet.name].ok
    assert times(log) == 1


def overlap(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return max(a[0], b[0]) < min(a[1], b[1])


def test_events_tell_the_story(lab):
    lab.one("pass")
    kinds = [type(event) for event in lab.events]
    assert kinds == [
        events.Planned, events.Warming, events.WarmedUp, events.Started, events.Finished,
    ]  # fmt: skip
    assert lab.events[-1].run.ok


def test_a_snippet_runs_as_main_in_the_project_and_leaves_it_clean(lab):
    before = sorted(p for p in lab.root.rglob("*") if ".tclab" not in p.parts)
    code = """
    import inspect, os, sys, tempfile
    def f():
        return 1
    assert __name__ == "__main__" and sys.argv == [__file__] == ["snippets/t/one.py"]
    assert inspect.getsource(f) == "def f():\\n    return 1\\n"
    os.chdir("/")
    assert inspect.getsource(sys.modules["__main__"].f).startswith("def f()")
    open(tempfile.mkstemp()[1], "w").write("x")
    print(f.__code__.co_filename, tempfile.gettempdir())
    """
    lab.root.joinpath("x").mkdir()
    run = lab.one(code)
    assert run.ok, run.failure
    assert run.stdout == "snippets/t/one.py <tmp>\n"
    after = [p for p in lab.root.rglob("*") if ".tclab" not in p.parts and p.name != "x"]
    assert sorted(after) == sorted(
        [*before, lab.root / "snippets/t", lab.root / "snippets/t/one.py"]
    )


def test_a_cold_process_finds_the_precompiled_headers(lab):
    import getpass
    import tempfile

    code = """
    import getpass, os, tempfile
    here = os.path.join(tempfile.gettempdir(), f"torchinductor_{getpass.getuser()}")
    open(os.environ["WHERE"], "w").write(f"{os.environ['TMPDIR']} {os.path.realpath(here)}")
    """
    where = lab.root / "where"
    code = code.replace('os.environ["WHERE"]', repr(str(where)))
    run = lab.one(code)
    assert run.ok, run.failure
    own, headers = where.read_text().split()
    assert own.endswith("/tmp")
    assert own != tempfile.gettempdir()
    expected = Path(tempfile.gettempdir()) / f"torchinductor_{getpass.getuser()}"
    assert headers == str(expected.resolve())


def test_a_run_says_what_made_it(lab):
    snippet = lab.write("t/one", "print(1)")
    run = lab.run(snippet)["t/one"]
    assert run.provenance == machine.here(variables.inherited_variables(), lab.store.hide_value)
    process = "tclab/site/engine/worker/process.py"
    assert run.rests_on[process] == dependencies.package_digests()[process]
    assert run.source_key == keys.source_key(snippet)
    assert run.seconds > 0
    assert run.peak_memory > 2**20


def test_the_runner_never_imports_torch(lab):
    lab.write("t/one", "print(1)")
    process = lab.python("""
    import sys
    from pathlib import Path
    from tclab.site import snippets
    from tclab.site.engine import record, schedule
    from tclab.site.engine.plan import Plan
    root = Path.cwd()
    schedule.run(snippets.find(root), Plan(root), warm=False)
    print("torch" in sys.modules)
    """)
    assert process.communicate()[0] == "False\n", process.stderr


def test_nothing_of_a_run_stays_in_the_temporary_folder(lab, tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lab.one("pass")
    assert wait_for(lambda: not list(tmp_path.glob("tclab-*")))
    assert os.path.isdir(lab.root)


def test_a_snippets_process_finds_tclab_where_this_process_does(tmp_path):
    first = variables.all_variables(tmp_path)["PYTHONPATH"].split(os.pathsep)[0]
    assert (Path(first) / "tclab" / "site" / "engine" / "worker" / "process.py").is_file()


SEEN = """
import os, tclab
tclab.show(repr(os.environ.get("CUDA_VISIBLE_DEVICES")), name="seen")
tclab.show(str("tclab.site.engine.worker.warm" in __import__("sys").modules), name="forked")
"""


def test_what_needs_no_gpu_sees_none_and_is_stamped_with_none(lab, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))  # no compiler: the warm-up takes half as long
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setattr(machine, "has_cuda", lambda: True)
    monkeypatch.setattr(machine, "gpu_and_driver", lambda: ("NVIDIA H100", "580"))
    chosen = [lab.write("t/on_a_cpu", SEEN), lab.write("t/on_a_gpu", SEEN, "needs=cuda")]
    plan = lab.plan()
    runs = schedule.run(chosen, plan, warm=True)
    cpu, gpu = runs["t/on_a_cpu"], runs["t/on_a_gpu"]
    assert [a.text for a in cpu.artifacts] == ["''", "True"]
    assert (cpu.provenance.gpu, cpu.provenance.driver) == ("", "")
    assert "CUDA_VISIBLE_DEVICES" not in cpu.provenance.variables
    assert [a.text for a in gpu.artifacts] == ["'3'", "False"]
    assert gpu.provenance == plan.here and gpu.provenance.gpu == "NVIDIA H100"
    assert gpu.provenance.variables["CUDA_VISIBLE_DEVICES"] == "3"
    assert all(lab.plan().local_status(snippet).fresh for snippet in chosen)
