"""A capture's process, played by a script: what it writes, lacks, or does to itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import psutil
import pytest

from tclab.errors import ExplainError
from tclab.explain import Report
from tclab.model import Snapshot
from tclab.upgrade.captures import ExplainResult, explain_in_environment
from tests.chromium import comes

WORDS = {"spec": "model.py:f", "backward": True}


@pytest.fixture
def play(tmp_path: Path):
    """Capture with a Python that does `code`, in which OUT is the file to write."""

    def run(code: str, seconds: float = 60.0) -> ExplainResult:
        script = tmp_path / "python"
        script.write_text(f"#!{sys.executable}\nimport sys, os, json\nOUT = sys.argv[-1]\n{code}\n")
        script.chmod(0o755)
        return explain_in_environment(str(script), WORDS, "2.15.0", seconds)

    return run


def test_the_request_goes_in_and_a_report_comes_out(play, tmp_path) -> None:
    (tmp_path / "report.json").write_text(Report("f", snapshot=Snapshot("f")).to_json())
    got = play(f"assert json.load(sys.stdin) == {WORDS!r}\n"
               f"open(OUT, 'w').write(open({str(tmp_path / 'report.json')!r}).read())")  # fmt: skip
    assert got.report is not None and got.report.snapshot.title == "f"


def test_a_report_is_parsed_once(play, tmp_path, monkeypatch) -> None:
    text, read = Report("f", snapshot=Snapshot("f")).to_json(), []
    (tmp_path / "report.json").write_text(text)
    loads = json.loads

    def counted(given: str) -> object:
        read.append(given)
        return loads(given)

    monkeypatch.setattr(json, "loads", counted)
    play(f"open(OUT, 'w').write(open({str(tmp_path / 'report.json')!r}).read())")
    assert read == [text]


def test_it_finds_this_tclab_and_nothing_that_lies_beside_it(play) -> None:
    code = """
folder = os.environ["PYTHONPATH"].split(os.pathsep)[0]
import json
assert os.listdir(folder) == ["tclab"] and os.path.isfile(folder + "/tclab/upgrade/child.py")
open(OUT, "w").write(json.dumps({"problem": ["p", "c", "s"], "ours": False}))
"""
    failure = play(code).failure
    assert failure is not None
    assert (failure.place, failure.cause, failure.next_step) == ("p", "c", "s")


def test_what_tells_nothing_of_pytorch_is_an_error(play) -> None:
    problem = {"problem": ["model.py", "no module named einops", "--with einops"], "ours": True}
    with pytest.raises(ExplainError) as caught:
        play(f"open(OUT, 'w').write(json.dumps({problem!r}))")
    assert caught.value.place == "model.py, under PyTorch 2.15.0"
    assert caught.value.next_step == "--with einops"


def test_a_process_that_dies_is_a_result(play) -> None:
    failure = play(
        "sys.stderr.write('the last word\\n'); sys.stderr.flush(); os.kill(os.getpid(), 11)"
    )
    assert failure.failure is not None
    assert "the last word" in failure.failure.cause


def test_one_that_does_not_end_is_ended_with_what_it_started(play, tmp_path) -> None:
    pid = tmp_path / "pid"
    code = f"""
import subprocess, time
child = subprocess.Popen(["sleep", "600"])
open({str(pid)!r}, "w").write(str(child.pid))
time.sleep(600)
"""
    failure = play(code, seconds=3.0).failure
    assert failure is not None and "within 3 seconds" in failure.cause
    assert comes(lambda: has_ended(int(pid.read_text())))


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_the_child_says_which_module_is_missing(tmp_path, monkeypatch, capsys) -> None:
    from tclab.upgrade import child

    model = tmp_path / "model.py"
    model.write_text("import a_package_that_is_not_here\n")
    out = tmp_path / "out.json"
    monkeypatch.setattr(sys, "argv", ["child", str(out)])
    monkeypatch.setattr(sys, "stdin", (tmp_path / "in.json").open("w+"))
    sys.stdin.write(json.dumps({"spec": f"{model}:f"}))
    sys.stdin.seek(0)
    child.main()
    said = json.loads(out.read_text())
    assert said["ours"] and said["problem"][2].startswith("--with a_package_that_is_not_here")


def test_a_failure_has_no_value_of_a_variable(play, monkeypatch) -> None:
    monkeypatch.setenv("API_KEY", "sk-SECRET-4711")
    write = 'open(OUT, "w").write(json.dumps({"problem": %s, "ours": False}))'
    texts = '["m.py:3", "ValueError: bad " + os.environ["API_KEY"], "ask " + os.environ["API_KEY"]]'
    for code in (write % texts, 'sys.exit("bad " + os.environ["API_KEY"])'):
        failure = play(code).failure
        assert failure is not None and "<value of API_KEY>" in failure.cause
        assert "SECRET" not in f"{failure}"
