"""Jobs and runs in files: what a machine without a network is given, and what is taken back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from tclab.errors import RecordingError, StoreError, TclabError
from tclab.model import Failure, Provenance
from tclab.site import snippets
from tclab.site.engine import bare, events
from tclab.site.remote import bundle, bundle_import, protocol, tars
from tclab.site.store import recordings

ENV = "box-torch2.13"
CODE = "import tclab\nprint('hello')\ntclab.show('code', name='x')"


@pytest.fixture
def bundles(lab, tmp_path):
    """A file of jobs of two snippets, and where its runs go."""
    lab.write("t/one", CODE)
    lab.write("t/two", "from _shared import value\nprint(value)")
    (lab.root / "snippets/t/_shared.py").write_text("value = 2\n")
    jobs, runs = tmp_path / "jobs.tar", tmp_path / "runs.tar"
    bundle.write_jobs(jobs, lab.plan(), snippets.find(lab.root), ENV)
    return jobs, runs


def take(lab, runs, *names):
    return bundle_import.import_runs(runs, lab.plan(), snippets.find(lab.root), names)


def records(lab):
    return sorted(p for p in (lab.root / "records").rglob("*")) if lab.root.exists() else []


@pytest.mark.snippet
def test_jobs_go_there_and_runs_come_back_as_they_are_made_here(lab, bundles):
    jobs, runs = bundles
    ran = bundle.run_jobs(jobs, runs, on_event=lab.events.append)
    assert sorted(ran.runs) == ["t/one", "t/two"]
    taken, refused = take(lab, runs)
    assert taken == ran.runs
    assert refused == {}
    for snippet in snippets.find(lab.root):
        status = recordings.status(lab.root, ENV, snippet)
        assert status.fresh, status.why
        here = lab.run(snippet)[snippet.name]
        there = status.run()
        for field in ("artifacts", "stdout", "stderr", "claims", "rests_on", "source_key"):
            assert getattr(there, field) == getattr(here, field), (snippet.name, field)


@pytest.mark.snippet
def test_the_same_jobs_again_run_only_what_is_missing(lab, bundles):
    jobs, runs = bundles
    bundle.run_jobs(jobs, runs)
    before = runs.read_bytes()
    bundle.run_jobs(jobs, runs, on_event=lab.events.append)
    assert lab.heard(events.Finished) == []
    assert runs.read_bytes() == before
    assert jobs.read_bytes() == rewritten(lab, jobs)


def rewritten(lab, jobs):
    """The same jobs, written once more."""
    bundle.write_jobs(jobs, lab.plan(), snippets.find(lab.root), ENV)
    return jobs.read_bytes()


@pytest.mark.snippet
def test_what_fails_there_is_told_and_not_recorded(lab, tmp_path):
    chosen = [lab.write("t/bad", "1 / 0"), lab.write("t/needy", "1", "needs=cuda")]
    jobs, runs = tmp_path / "jobs.tar", tmp_path / "runs.tar"
    bundle.write_jobs(jobs, lab.plan(), chosen, ENV)
    ran = bundle.run_jobs(jobs, runs)
    assert ran.refused == {"t/needy": "no cuda"}
    taken, refused = take(lab, runs)
    assert taken["t/bad"].failure.cause == "raised"
    assert refused == {"t/needy": "no cuda"}
    assert not (lab.root / "records").exists()


@pytest.mark.snippet
def test_an_interruption_leaves_what_had_run_and_no_process(lab, tmp_path):
    pid = tmp_path / "pid"
    code = f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)"
    chosen = [lab.write("t/one", CODE), lab.write("t/slow", code)]
    jobs, runs = tmp_path / "jobs.tar", tmp_path / "runs.tar"
    bundle.write_jobs(jobs, lab.plan(), chosen, ENV)
    words = ["-m", "tclab", "run", "--bundle", str(jobs), "-o", str(runs), "-j", "1"]
    process = subprocess.Popen(
        [sys.executable, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert list(bundle.files_by_run(bundle.read(runs, bundle.RUNS))) == ["t/one"]


# --------------------------------------------------------------------------- refused


def edited(path, name, change):
    """The bundle with one file changed, and nothing else."""
    files = dict(tars.iter_files(path.read_bytes()))
    files[name] = change(files[name])
    path.write_bytes(tars.pack_files(files))


def forged(path, changes=lambda head: head, content=lambda files: files):
    """The bundle with other content, and digests that are right for it."""
    files = dict(tars.iter_files(path.read_bytes()))
    head = changes(json.loads(files.pop("bundle.json")))
    bundle._write_bundle(path, head, content(files))


_made: list[bytes] = []


@pytest.fixture
def runs(bundles):
    """What came of the jobs; they ran once for all tests."""
    if not _made:
        bundle.run_jobs(*bundles)
        _made.append(bundles[1].read_bytes())
    bundles[1].write_bytes(_made[0])
    return bundles[1]


@pytest.mark.snippet
@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda p: p.write_bytes(p.read_bytes()[:5000]), "is refused"),
        (lambda p: p.write_bytes(b"text"), "is refused: is no whole tar"),
        (lambda p: edited(p, "runs/t/one/stdout.txt", lambda _: b"HELLO"), "not what was written"),
        (lambda p: edited(p, "bundle.json", lambda _: b"{}"), "is no bundle of tclab"),
        (
            lambda p: forged(p, content=lambda f: f | {"runs/t/one/stdout.txt": b"HELLO\n"}),
            "stdout.txt: was truncated or edited",
        ),
        (
            lambda p: forged(p, content=lambda f: f | {"runs/t/one/more.txt": b"x"}),
            "more.txt is no file of this run",
        ),
        (lambda p: forged(p, content=lambda f: f | {"elsewhere": b"x"}), "is no file of a run"),
        (
            lambda p: forged(
                p, content=lambda f: {n.replace("t/one", "t/six"): d for n, d in f.items()}
            ),
            "is that of t/one",
        ),
        (lambda p: forged(p, lambda h: h | {"environment": "../up"}), "is not a name"),
        (lambda p: forged(p, lambda h: h | {"refused": {"t/one": ["no GPU"]}}), "is no bundle"),
        (lambda p: edited(p, "bundle.json", lambda _: b"[" * 10**5), "is no bundle of tclab"),
        (lambda p: forged(p, lambda h: h | {"protocol": 99}), "is of protocol 99"),
        (lambda p: forged(p, lambda h: h | {"torch": "2.9"}), "and 2.9 was wanted"),
        (lambda p: forged(p, lambda h: h | {"format": bundle.JOBS}), "has jobs, not runs"),
    ],
)
def test_a_bundle_that_is_not_what_was_written_is_refused_with_nothing_written(
    lab, runs, damage, says
):
    damage(runs)
    with pytest.raises((bundle.BundleError, RecordingError), match=says.replace(".", r"\.")) as why:
        take(lab, runs)
    assert why.value.next_step
    assert not (lab.root / "records").exists()


@pytest.mark.parametrize("job", [b"{}", b"[]", b'{"snippet": 1}', b"[" * 10**5, b"\xff"])
def test_a_bundle_with_what_is_no_job_is_refused(bundles, job):
    jobs, runs = bundles
    forged(jobs, content=lambda files: files | {"jobs/00002.json": job})
    with pytest.raises(bundle.BundleError, match=r"jobs/00002\.json in it is no job"):
        bundle.run_jobs(jobs, runs)


@pytest.mark.snippet
def test_a_failure_elsewhere_revokes_the_recording_that_is_there(lab, runs):
    """As a run that fails here revokes the run before it."""
    take(lab, runs)
    snippet = snippets.get("t/one", lab.root)
    good = lab.plan().recorded_status(snippet, ENV)
    assert good.fresh
    bad = replace(good.run(), failure=Failure("assertion", "2 is not 3"))
    bundle_import.recorder(lab.plan(), ENV, [snippet])(bad)
    status = lab.plan().recorded_status(snippet, ENV)
    assert (status.state, status.run()) == ("failed", good.run())
    assert status.problem.place == f"records/{ENV}/t/one"
    assert "failed when it was run to record it again: 2 is not 3" in status.problem.cause
    assert f"tclab record {ENV} t/one" in status.problem.next_step
    assert lab.plan().recorded_status(snippets.get("t/two", lab.root), ENV).fresh
    bundle_import.recorder(lab.plan(), ENV, [snippet])(replace(good.run(), seconds=9.0))
    assert lab.plan().recorded_status(snippet, ENV).fresh


@pytest.mark.snippet
def test_runs_of_another_state_of_the_project_are_refused(lab, runs):
    lab.write("t/one", CODE + "\n# changed")
    with pytest.raises(bundle.BundleError, match="another t/one than this one") as why:
        take(lab, runs)
    assert "name those that are to be taken" in why.value.next_step
    assert not (lab.root / "records").exists()
    taken, _ = take(lab, runs, "t/two")
    assert list(taken) == ["t/two"]
    (lab.root / "snippets/t/two.py").unlink()
    with pytest.raises(bundle.BundleError, match=r"there is no snippets/t/two\.py"):
        take(lab, runs, "t/two")


@pytest.mark.snippet
def test_an_environment_is_of_one_pytorch_on_one_machine(lab, runs):
    made = lab.run(lab.write("t/old", CODE))["t/old"]
    made.provenance.__dict__["torch"] = "2.11.0"
    made.__dict__["environment"] = ENV
    assert isinstance(made.provenance, Provenance)
    recordings.write(lab.root, ENV, made)
    before = records(lab)
    with pytest.raises(bundle.BundleError, match=r"is of PyTorch 2\.11\.0"):
        take(lab, runs)
    assert records(lab) == before


@pytest.mark.snippet
def test_a_run_from_elsewhere_is_of_the_pytorch_of_the_recordings(lab):
    """As one that comes back through Dask is kept."""
    with pytest.raises(TclabError, match="its name says nothing to a worker") as why:
        bundle_import.required_versions(lab.root, ENV, "", "")
    assert "--torch" in why.value.next_step
    assert bundle_import.required_versions(lab.root, ENV, "2.15", "") == ("2.15", "")
    one, two = lab.write("t/one", CODE), lab.write("t/two", CODE)
    run = replace(lab.run(one)["t/one"], environment=ENV)
    keep = bundle_import.recorder(lab.plan(), ENV, [one])
    keep(run)
    assert bundle_import.required_versions(lab.root, ENV, "", "") == (
        run.provenance.torch,
        run.provenance.gpu,
    )
    for field in ({"torch": "2.11.0"}, {"gpu": "NVIDIA H200"}):
        other = replace(run, snippet="t/two", provenance=replace(run.provenance, **field))
        for write in (keep, bundle_import.recorder(lab.plan(), ENV, [two])):
            with pytest.raises(StoreError, match="t/two is of PyTorch"):
                write(other)
    assert not (lab.root / "records" / ENV / "t/two").exists()


def test_nothing_to_do_is_no_bundle(lab, tmp_path):
    with pytest.raises(TclabError, match="nothing of it is stale"):
        bundle.write_jobs(tmp_path / "jobs.tar", lab.plan(), [], ENV)
    assert list(tmp_path.glob("*.tar")) == []


# --------------------------------------------------------------------------- PyTorch alone


@pytest.mark.snippet
def test_a_bundle_runs_where_neither_click_nor_rich_nor_dask_is(lab, bundles, capsys, monkeypatch):
    jobs, runs = bundles
    for name in ("click", "rich", "distributed", "dask"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.chdir(lab.root.parent)  # no project there
    monkeypatch.delenv("TCLAB_STORE")
    assert bare.main(["run", "--bundle", str(jobs), "-o", str(runs)]) == 0
    out = capsys.readouterr().out
    assert "t/one: ok" in out
    assert "2 runs, 0 refused" in out
    assert sorted(take(lab, runs)[0]) == ["t/one", "t/two"]


def test_another_protocols_jobs_are_refused_before_they_run(bundles, capsys, monkeypatch):
    jobs, runs = bundles
    monkeypatch.setattr(bundle, "PROTOCOL", protocol.PROTOCOL + 1)
    assert bare.main(["run", "--bundle", str(jobs), "-o", str(runs)]) == 1
    err = capsys.readouterr().err
    assert "is of protocol 1" in err
    assert "next: take a tclab of the same protocol" in err
    assert not runs.exists()
