"""Dask's door: what runs where, what is refused, and what of a cluster that breaks is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from tclab.errors import TclabError
from tclab.site.engine import events
from tclab.site.remote import addresses, client, cluster, planner
from tclab.site.remote.client import ClusterAddress, RunRequest
from tclab.site.store import recordings
from tclab.system.machine import torch_facts

from . import grid
from .grid import SRC

pytest.importorskip("distributed")

ENV = "box"


def run(lab, on, *chosen, environment="here", **fields):
    """Run these on a cluster; the outcome."""
    plan = lab.plan()
    keep = partial(recordings.write, lab.root, environment) if environment != "here" else None
    request = RunRequest(chosen, environment, environment != "here", keep, **fields)
    (outcome,) = client.run_all([request], plan, ClusterAddress(on), on_event=lab.events.append)
    return outcome


def where(lab) -> dict[str, str]:
    """Which worker finished each."""
    return {event.snippet: event.worker for event in lab.heard(events.Finished)}


def until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


def slow(lab, name: str, folder, seconds: float = 60.0):
    """A snippet that takes its time when it runs first, and none when it runs again; its pid."""
    pid = folder / f"{name.replace('/', '-')}.pid"
    code = f"""
    import os, time
    from pathlib import Path
    pid = Path({str(pid)!r})
    first = not pid.exists()
    pid.with_suffix(".new").write_text(str(os.getpid()))
    pid.with_suffix(".new").rename(pid)
    time.sleep({seconds} if first else 0)
    """
    return lab.write(name, code), pid


# --------------------------------------------------------------------------- addresses


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1"])
def test_this_machines_own_address_needs_no_tls(address):
    assert addresses.check_address(address, insecure=False) == address


def test_another_machine_is_reached_by_tls_or_by_a_word_that_is_typed():
    with pytest.raises(TclabError, match="nor TLS: whoever reaches it runs code here") as why:
        addresses.check_address("tcp://10.1.2.3:8786", insecure=False)
    assert "--insecure" in why.value.next_step
    assert addresses.check_address("tcp://10.1.2.3:8786", insecure=True)
    assert addresses.check_address("tls://10.1.2.3:8786", insecure=False)
    with pytest.raises(TclabError, match="names no certificates"):
        addresses.tls_settings("tls://10.1.2.3:8786")


@pytest.mark.parametrize("address", ["", "box", "box:8786", "tcp://", "http://box:1", "local:0"])
def test_what_is_no_address_is_said(lab, address):
    with pytest.raises(TclabError, match="is no address of a scheduler"):
        run(lab, address, lab.write("t/one", "1"))


def test_without_dask_the_next_step_is_its_extra(monkeypatch):
    monkeypatch.setattr(addresses.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(TclabError, match=r"torch-compile-lab\[dask\]"):
        addresses.check_address("tcp://127.0.0.1:1", insecure=False)


def test_local_workers_listen_on_this_machine_alone():
    psutil = pytest.importorskip("psutil")

    async def listening() -> set[str]:
        async with cluster.start_local(1):
            here = psutil.Process()
            every = [here, *here.children(recursive=True)]
            found = [one for each in every for one in each.net_connections("tcp")]
            return {one.laddr.ip for one in found if one.status == psutil.CONN_LISTEN}

    assert asyncio.run(listening()) == {"127.0.0.1"}


# --------------------------------------------------------------------------- what runs where


@pytest.mark.snippet
def test_each_runs_where_it_can_and_what_nobody_has_is_refused_by_name(lab, tmp_path):
    """Four workers: without a compiler, with another PyTorch, with a GPU, of another protocol."""
    (tmp_path / "none").mkdir()
    envs = [
        grid.environment(tmp_path / "other", "2.15.0+cpu"),
        grid.environment(tmp_path / "gpu", "2.14.0+cu130", "13.0", "NVIDIA H200"),
    ]
    with grid.started(tmp_path) as there:
        there.worker("plain", PATH=str(tmp_path / "none"))
        there.worker("other", "--env", str(envs[0]))
        there.worker("gpu", "--env", str(envs[1]))
        there.worker("strange", code=grid.OTHER)
        there.wait()
        code = (
            "import tclab.system.machine\nprint(tclab.system.machine.torch_facts()['__version__'])"
        )
        plain = lab.write("t/plain", "print(1)")
        here = [plain, lab.write("t/compiles", "1", "needs=cxx")]
        began = time.monotonic()
        outcome = run(lab, there.address, *here)
        assert not outcome.runs  # what compiles takes for granted this machine's compiler
        differs = "it is not as this machine (torch"
        for part in ("plain: no cxx", f"other: {differs}", f"gpu: {differs}", "strange: it speaks"):
            assert all(part in outcome.refused[one.name] for one in here), outcome.refused
        assert time.monotonic() - began < 5 + planner._UNMET_SECONDS

        version = torch_facts()["__version__"]
        cases = {
            "plain": (plain, {"torch": version}, "plain", "1\n"),
            "two": (lab.write("t/two", code), {"torch": "2.15"}, "other", "2.15.0+cpu\n"),
            "gpu": (lab.write("t/gpu", code, "needs=cuda"), {}, "gpu", "2.14.0+cu130\n"),
            "h200": (lab.write("t/h200", code), {"gpu": "h200"}, "gpu", "2.14.0+cu130\n"),
        }
        for name, (snippet, fields, worker, out) in cases.items():
            lab.events.clear()
            outcome = run(lab, there.address, snippet, environment=name, **fields)
            assert where(lab) == {snippet.name: worker}
            assert outcome.runs[snippet.name].stdout == out
            assert recordings.status(lab.root, name, snippet).fresh

        lab.events.clear()
        both = [lab.write("t/pair", "1", "needs=cuda,two_gpus"), lab.write("t/any", "print(2)")]
        began = time.monotonic()
        outcome = run(lab, there.address, *both, environment="rest")
        assert "gpu: no two_gpus" in outcome.refused["t/pair"]
        assert time.monotonic() - began < 5
        assert outcome.runs["t/any"].ok

        lab.events.clear()
        there.worker("whole")  # as this machine, with its compiler
        there.wait()
        outcome = run(lab, there.address, *here)
        assert where(lab) == {"t/plain": "whole", "t/compiles": "whole"}
        assert outcome.runs["t/plain"] == lab.store.load("t/plain")
    for name in there.workers:
        assert there.left(name) == [], name


@pytest.mark.snippet
def test_local_workers_run_what_the_pool_runs_and_one_that_is_timed_runs_alone(lab):
    spans = lab.root / "spans"
    code = f"""
    import time
    began = time.time()
    time.sleep(0.4)
    open({str(spans)!r}, "a").write(f"{{began}} {{time.time()}} {{__file__}}\\n")
    """
    chosen = [lab.write(f"t/n{n}", code) for n in range(3)]
    chosen.append(lab.write("t/timed", code, "alone=true"))
    outcome = run(lab, "local:2", *chosen)
    assert sorted(outcome.runs) == ["t/n0", "t/n1", "t/n2", "t/timed"]
    assert all(made.ok for made in outcome.runs.values())
    assert set(where(lab).values()) == {"local-1", "local-2"}
    rows = [line.split() for line in spans.read_text().splitlines()]
    (timed,) = [row for row in rows if "timed" in row[2]]
    others = [row for row in rows if "timed" not in row[2]]
    assert all(row[1] < timed[0] or row[0] > timed[1] for row in others)
    made = lab.run(*chosen, force=True)
    for name, run_ in outcome.runs.items():
        for field in ("artifacts", "stdout", "stderr", "rests_on", "source_key", "provenance"):
            assert getattr(run_, field) == getattr(made[name], field), (name, field)


# --------------------------------------------------------------------------- what breaks


@pytest.mark.snippet
def test_of_workers_that_are_killed_and_hang_every_job_runs_elsewhere(lab, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster.DaskCluster, "silence_limit", 3.0)
    doomed, pid = slow(lab, "t/doomed", tmp_path)
    frozen, other = slow(lab, "t/frozen", tmp_path)
    with grid.started(tmp_path) as there:
        for name in ("a", "b"):
            there.worker(name)
        there.wait()
        started: dict[str, str] = {}
        struck: set[str] = set()

        def strike(event):
            lab.events.append(event)
            if isinstance(event, events.Started):
                started.setdefault(event.snippet, event.worker)
            if isinstance(event, events.Rescheduled) and "c" not in there.workers:
                there.worker("c")
            if isinstance(event, events.Started) and len(started) == 2 and not struck:
                struck.add("yes")
                import threading

                threading.Thread(target=hit, daemon=True).start()

        def hit():
            until(pid.exists)
            until(other.exists)
            there.workers[started["t/doomed"]].kill()
            os.kill(there.workers[started["t/frozen"]].pid, signal.SIGSTOP)

        request = RunRequest((doomed, frozen), "box", True, lambda run: None)
        (outcome,) = client.run_all(
            [request], lab.plan(), ClusterAddress(there.address), on_event=strike
        )
        hung = there.workers[started["t/frozen"]]
        os.kill(hung.pid, signal.SIGCONT)
    assert {name: made.ok for name, made in outcome.runs.items()} == dict.fromkeys(
        ("t/doomed", "t/frozen"), True
    ), outcome
    told = {event.snippet: event.why for event in lab.heard(events.Rescheduled)}
    assert told["t/doomed"] == "it left the cluster"
    assert "it has said nothing for" in told["t/frozen"]
    for file in (pid, other):
        until(lambda file=file: not grid.alive(int(file.read_text())))
    assert there.left("c") == []


@pytest.mark.snippet
def test_where_the_scheduler_is_killed_what_had_finished_is_kept(lab, tmp_path, monkeypatch):
    quick, (late, pid) = lab.write("t/quick", "print(1)"), slow(lab, "t/late", tmp_path)
    with grid.started(tmp_path) as there:
        there.worker("a")
        there.wait()

        def strike(event):
            if isinstance(event, events.Started) and event.snippet == "t/late":
                import threading

                threading.Thread(
                    target=lambda: (until(pid.exists), there.kill_scheduler()), daemon=True
                ).start()

        order = {"t/quick": 9.0, "t/late": 1.0}
        monkeypatch.setattr(client, "last_seconds", lambda _, snippet: order[snippet.name])
        with pytest.raises(TclabError, match="the scheduler is gone") as why:
            client.run([quick, late], lab.plan(), ClusterAddress(there.address), on_event=strike)
        assert "the same command again" in why.value.next_step
        assert lab.store.load("t/quick").ok
        assert lab.store.load("t/late") is None
        assert lab.store.lock("t/late") is not None
        there.workers["a"].wait(40)  # a worker without a scheduler ends, and all it runs
        until(lambda: not grid.alive(int(pid.read_text())))
    assert there.left("a") == []


@pytest.mark.snippet
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_client_that_is_interrupted_or_killed_leaves_no_process(lab, tmp_path, number):
    _, pid = slow(lab, "t/late", tmp_path)
    with grid.started(tmp_path) as there:
        there.worker("a")
        there.wait()
        command = [sys.executable, "-m", "tclab", "run", "t/late", "--on", there.address]
        env = {**os.environ, "PYTHONPATH": str(SRC)}
        client = subprocess.Popen(command, cwd=lab.root, env=env, stderr=subprocess.PIPE, text=True)
        until(pid.exists)
        client.send_signal(number)
        _, err = client.communicate(timeout=30)
        until(lambda: not grid.alive(int(pid.read_text())), 20)
        if number == signal.SIGINT:
            assert client.returncode == 130, err
            assert "interrupted\n  next: the same command" in err
        again = subprocess.run(command, cwd=lab.root, env=env, timeout=60, check=False)
        assert again.returncode == 0  # the worker is as good as new


@pytest.mark.snippet
def test_a_worker_whose_disk_is_full_is_passed_over(lab, tmp_path):
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace to mount in")
    snippet = lab.write("t/one", "print(1)")
    with grid.started(tmp_path) as there:
        script = 'mount -t tmpfs -o size=600k none "$TMPDIR" && exec "$@"'
        there.worker("full", prefix=["unshare", "-rm", "sh", "-c", script, "sh"])
        there.wait()
        outcome = run(lab, there.address, snippet, environment=ENV)
        failure = outcome.runs["t/one"].failure
        assert failure.cause == "worker"
        assert "full: " in failure.message
        assert "No space left on device" in failure.message
        assert "see to full" in failure.next_step
        there.worker("room")
        there.wait()
        lab.events.clear()
        outcome = run(lab, there.address, snippet, environment=ENV)
        assert outcome.runs["t/one"].ok
        assert where(lab) == {"t/one": "room"}


@pytest.mark.snippet
def test_tls_works_with_certificates_made_as_the_chapter_says(lab, tmp_path, monkeypatch):
    if not shutil.which("openssl"):
        pytest.skip("no openssl to make certificates")
    import dask

    found = grid.certificates(tmp_path)
    for variable, value in found.items():
        monkeypatch.setenv(variable, value)
    names = (name.removeprefix("DASK_").lower().replace("__", ".") for name in found)
    settings = {name.replace("ca_file", "ca-file"): v for name, v in zip(names, found.values())}
    with dask.config.set(settings), grid.started(tmp_path, "tls") as there:
        assert there.address.startswith("tls://")
        there.worker("a")
        there.wait()
        assert run(lab, there.address, lab.write("t/one", "print(1)")).runs["t/one"].ok
