"""What capture needs of PyTorch is there, and its absence is named."""

from __future__ import annotations

import dataclasses

import pytest
import torch

import tclab
from tclab.capturing.torch_private import check, compiler
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


def test_a_log_that_moved_is_named(monkeypatch):
    monkeypatch.setitem(compiler.LOGS, "no_such_log", "torch._inductor.debug.__no_such_log")
    assert check.check() == ["log artifact no_such_log is gone"]
