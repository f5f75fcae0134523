"""A run ends with all that its snippet started, and with nothing that another's did."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tclab.site.engine import events

from . import runaway

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to look in")


def test_processes_that_fork_and_end_are_outrun(lab):
    """At its time limit. Those of a fork of the warm process: tests/engine/test_warm.py."""
    log = lab.root / "log"
    run = lab.one(runaway.code(log, "time.sleep(60)"), "timeout=1")
    assert run.failure.cause == "timeout"
    runaway.assert_over(log)


def test_processes_that_fork_and_end_do_not_outlive_a_good_run(lab):
    log = lab.root / "log"
    run = lab.one(runaway.code(log, "time.sleep(0.5)"))
    assert run.ok, run.failure
    runaway.assert_over(log)


def test_what_a_snippet_leaves_is_not_taken_for_anothers(lab):
    """One is ended with its runaways while another waits for an orphan of its own."""
    log, word = lab.root / "log", lab.root / "word"
    patient = f"""
import os, time
word = {str(word)!r}
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    time.sleep(2)
    open(word, "w").write("here")
    os._exit(0)
os.wait()
while not os.path.exists(word):
    time.sleep(0.05)
print(open(word).read())
"""
    bad = lab.write("t/bad", runaway.code(log, "time.sleep(60)"), "timeout=1")
    good = lab.write("t/good", patient, "timeout=30")
    runs = lab.run(bad, good, jobs=2)
    assert runs["t/bad"].failure.cause == "timeout"
    assert runs["t/good"].ok, runs["t/good"].failure
    assert runs["t/good"].stdout == "here\n"
    runaway.assert_over(log)


def test_a_snippet_that_kills_its_parent_ends_alone_and_leaves_nothing(lab):
    """The parent is the snippet's keeper; what it leaves is the supervisor's to end."""
    log = lab.root / "log"
    then = "time.sleep(0.3)\nos.kill(os.getppid(), 9)\ntime.sleep(60)"
    killer = lab.write("t/killer", runaway.code(log, then))
    others = [lab.write(f"t/good_{i}", "import time\ntime.sleep(1)\nprint(1)") for i in range(2)]
    runs = lab.run(killer, *others, jobs=3)
    assert runs["t/killer"].failure.cause == "worker"
    assert [runs[s.name].stdout for s in others] == ["1\n", "1\n"]
    assert len(lab.heard(events.Started)) == 3  # the others were not started again
    runaway.assert_over(log)


def test_a_snippet_that_stops_its_parent_is_ended_in_time(lab):
    run = lab.one(
        "import os, signal, time\nos.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(60)",
        "timeout=0.5",
    )
    assert run.failure.cause == "timeout"


def test_a_snippet_that_removes_its_folder_is_ended(lab):
    log = lab.root / "log"
    then = "import shutil\ntime.sleep(0.3)\nshutil.rmtree(os.environ['TCLAB_JOB'])"
    run = lab.one(runaway.code(log, then))
    assert run.failure.cause == "worker"
    runaway.assert_over(log)
    assert os.path.isdir(lab.root)
