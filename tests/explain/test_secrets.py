"""A report is made to be passed on: it has no value of an environment variable."""

from __future__ import annotations

import getpass
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tclab.cli.report_file import FORMATS
from tclab.explain import ExplainRequest, Report, explain_named
from tests import planted
from tests.lab import SRC

READS_VARIABLES = """\
import os
import warnings

import torch

TOKEN = os.environ["TCLAB_TEST_TOKEN"]
warnings.warn(f"the token {TOKEN} is old")


class Wrong(Exception):
    pass


def f(x, key):
    n = len(os.environ.get("TCLAB_TEST_SHORT", ""))
    if TOKEN == "none" or key == "none":
        return x, TOKEN
    try:
        raise Wrong(f"no such key: {TOKEN}")
    except Wrong:
        x = x + n
    torch._dynamo.graph_break(f"asked with {key}")
    return x * 2, TOKEN


def example_inputs():
    return [(torch.ones(4), "public"), (torch.ones(4), os.environ["TCLAB_TEST_KEY"])]
"""
SECRETS = {
    "TCLAB_TEST_TOKEN": "sk-TOKEN-4711",
    "TCLAB_TEST_SHORT": "abcd",
    "TCLAB_TEST_KEY": "key/4712+b==",
}


@pytest.fixture
def written(write, monkeypatch):
    write("reads.py", READS_VARIABLES)
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


def checks_of(report: Report) -> set[str]:
    return {check for guards in report.guards for guard in guards for check in guard.checks}


def test_no_value_of_a_variable_is_in_a_report(written):
    report = explain_named(ExplainRequest.parse("reads.py:f"))
    made = {name: make(report) for name, make in FORMATS.items()}
    for name, text in made.items():
        for secret in SECRETS.values():
            assert secret not in text, (name, text[text.index(secret) - 200 :][:400])
    checks = checks_of(report)
    assert "G['os'].environ._data[b'TCLAB_TEST_SHORT'] == b'…'" in checks
    assert "G['TOKEN'] == '<value of TCLAB_TEST_TOKEN>'" in checks
    (warning,) = [text for text in report.warnings if "is old" in text]
    assert warning.endswith("the token <value of TCLAB_TEST_TOKEN> is old")
    assert report.calls == ("f32[4], 'public'", "f32[4], '<value of TCLAB_TEST_KEY>'")


def test_values_are_there_where_they_are_asked_for(written):
    report = explain_named(ExplainRequest.parse("reads.py:f", show_values=True))
    checks = checks_of(report)
    assert "G['os'].environ._data[b'TCLAB_TEST_SHORT'] == b'abcd'" in checks
    assert "G['TOKEN'] == 'sk-TOKEN-4711'" in checks


PLANTED = """\
import os
import warnings

import torch

KEY = os.environ["AWS_SECRET_ACCESS_KEY"]
warnings.warn(os.path.expanduser("~/file") + KEY)


def f(x):
    n = len(os.environ["PYTORCH_CI_TOKEN"]) + len(os.path.expanduser("~"))
    if KEY == os.environ.get("HF_TOKEN"):
        return x
    torch._dynamo.graph_break(KEY)
    return x + n, KEY


def example_inputs():
    return (torch.ones(4),)
"""


def share_headers(variables: dict[str, str]) -> None:
    """Link the C++ headers that PyTorch has precompiled here: anew they take 8 seconds of CPU."""
    name = "torchinductor_{}/precompiled_headers"
    here = Path(tempfile.gettempdir(), name.format(getpass.getuser()))
    here.mkdir(parents=True, exist_ok=True)
    there = Path(variables["TMPDIR"], name.format(variables["LOGNAME"]))
    there.parent.mkdir()
    there.symlink_to(here)


def test_no_secret_of_the_machine_is_in_a_report_or_in_what_the_command_prints(write, folder):
    write("reads.py", PLANTED)
    variables = planted.plant(folder)
    del variables["INDUCTOR_LOG_URL_FOR_GRAPH_XFORM"]  # with it Inductor wants pydot
    del variables["TORCH_LOGS_FORMAT"]  # what PyTorch writes before each line of its own log
    share_headers(variables)
    env = planted.environment(variables) | {"PYTHONPATH": str(SRC)}
    words = [sys.executable, "-m", "tclab", "explain", "reads.py:f", "--format", "json", "-o", "r"]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = Report.from_json((folder / "r").read_text(encoding="utf-8"))
    texts = [done.stdout + done.stderr, *(make(report) for make in FORMATS.values())]
    assert [line for text in texts for line in text.splitlines() if planted.found_in(line)] == []
    assert any("environ._data[b'PYTORCH_CI_TOKEN'] == b'…'" in c for c in checks_of(report))
    assert report.provenance.variables["PYTORCH_CI_TOKEN"] == "hidden"
