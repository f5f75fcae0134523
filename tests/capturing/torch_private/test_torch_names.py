"""What capture needs of PyTorch is there, and its absence is named."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch._inductor.graph import GraphLowering

import tclab
from tclab.capturing.torch_private import check, compiler, targets
from tclab.capturing.torch_private.private import Private, describe_missing
from tclab.errors import UnsupportedTorch
from tests.capturing.torch_private.tables import TABLES


def test_this_torch_is_supported():
    assert check.check() == []


@pytest.mark.parametrize("table", TABLES)
def test_every_name_is_there_once_and_says_what_it_is_for(table):
    names = TABLES[table]
    assert all(p.use and p.seen for p in names)
    assert len(set(map(str, names))) == len(names)
    assert [str(p) for p in names if not p.exists()] == []


@pytest.mark.parametrize("version", ["2.10.1", "2.2.0", "2.16.0+cu132", "3.0.0"])
def test_a_version_outside_the_range_is_refused(monkeypatch, version):
    monkeypatch.setattr(torch, "__version__", version)
    with pytest.raises(UnsupportedTorch, match=r"knows PyTorch 2\.11 to 2\.15"):
        tclab.capture(lambda x: x)(torch.ones(1))


def test_a_name_that_moved_is_named(monkeypatch):
    moved = dataclasses.replace(compiler.NAMES[0], name="trace_log_2")
    monkeypatch.setattr(compiler, "NAMES", (moved, *compiler.NAMES[1:]))
    with (
        pytest.raises(UnsupportedTorch, match=r"torch\._logging\._internal\.trace_log_2 is gone"),
        tclab.capture(),
    ):
        pass


def test_a_method_that_was_renamed_is_said_with_the_files_to_change(monkeypatch):
    monkeypatch.setattr(GraphLowering, "run_all", GraphLowering.run, raising=False)
    for owner in (GraphLowering, torch.fx.Interpreter):  # which it would inherit it from
        monkeypatch.delattr(owner, "run")
    (problem,) = (each for each in describe_missing(targets.NAMES) if "GraphLowering" in each)
    sentence, _, files = problem.rstrip(")").partition("; named in ")
    assert sentence.startswith("torch._inductor.graph.GraphLowering.run is gone (used for: oper")
    table, *users = files.split(", ")
    assert table == "capturing/torch_private/targets.py"
    assert {"capturing/target/choices.py", "capturing/read/times.py"} <= set(users)
    # a comment alone, and another method of the class
    assert not {"capturing/torch_private/private.py", "capturing/torch_private/origins.py"} & {
        *users
    }


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("from graph import Lowering\nLowering.run()", True),
        ("from graph import Lowering\npatch(Lowering, 'run')", True),
        ("import graph\nLOGS = {'Lowering.run': 'lowering'}", True),
        ("class Own(Lowering):\n    def run(self): ...", True),
        ("from graph import Lowering\n\ndef f():\n    return Lowering.get()\n\nrun()", False),
        ("# Lowering.run is called here", False),
        ('def f():\n    """Calls Lowering.run of a graph."""', False),
        ("Lowering.runs()", False),
    ],
)
def test_code_names_what_a_comment_or_prose_only_mentions(tmp_path, text, named):
    (tmp_path / "file.py").write_text(text)
    assert Private("graph", "Lowering.run", "").files(tmp_path) == "file.py" * named


def test_a_common_word_counts_where_its_module_is_named(tmp_path):
    (tmp_path / "ours.py").write_text("def write(): ...\nwrite()")
    (tmp_path / "theirs.py").write_text("from torch.codecache import write")
    assert Private("torch.codecache", "write", "").files(tmp_path) == "theirs.py"


def test_a_log_that_moved_is_named(monkeypatch):
    monkeypatch.setitem(compiler.LOGS, "no_such_log", "torch._inductor.debug.__no_such_log")
    assert check.check() == ["log artifact no_such_log is gone"]
