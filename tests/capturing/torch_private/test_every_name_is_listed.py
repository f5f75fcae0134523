"""Every private name of PyTorch and Triton that stands in the code is in a table of torch_private,
so that the check names it when it moves.

Read from the syntax: names imported, chains of attributes below what was imported, and names in
strings that are patched, asked for with getattr or imported. What an object has that some function
returned is not seen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tclab
from tclab.capturing.torch_private import targets
from tests.capturing.torch_private.tables import TABLES

SRC = Path(tclab.__file__).parent
ROOMS = (SRC / "capturing" / "torch_private", SRC / "capturing" / "target")
FILES = [
    *(f for room in ROOMS for f in sorted(room.rglob("*.py"))),
    SRC / "site/engine/worker/warm.py",
]
LISTED = set(map(str, (*targets.WITH_CUDNN, *(n for names in TABLES.values() for n in names))))

PRIVATE = re.compile(r"torch(\.\w+)*\._(?!_)|triton\.(backends|compiler|runtime|_C)\b")


def dotted(node: ast.expr, known: dict[str, str]) -> str:
    """``torch._inductor.config.patch`` for ``inductor.patch`` after ``import … as inductor``."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in known:
        return ""
    return ".".join([known[node.id], *names])


def imported(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for, of PyTorch and Triton."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                known |= {alias.asname: alias.name} if alias.asname else {top: top}
        elif isinstance(node, ast.ImportFrom):
            known |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return {k: v for k, v in known.items() if v.partition(".")[0] in ("torch", "triton")}


def in_calls(node: ast.Call, known: dict[str, str]) -> Iterator[str]:
    """``mock.patch.object(owner, "name", …)``, and ``getattr(owner, "name")`` without a default."""
    called = ast.unparse(node.func)
    if called.endswith("patch.object") or (called == "getattr" and len(node.args) == 2):
        owner, name = dotted(node.args[0], known), node.args[1]
        if owner and isinstance(name, ast.Constant):
            yield f"{owner}.{name.value}"


def used(source: str, *, strings: bool) -> set[str]:
    """Return the private names in a module; those that stand in strings only where `strings`."""
    tree = ast.parse(source)
    known = imported(tree)
    names = set(known.values())
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            names.add(dotted(node, known))
        elif isinstance(node, ast.Call):
            names |= set(in_calls(node, known))
        elif strings and isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= {node.value} if re.fullmatch(r"(torch|triton)(\.\w+)+", node.value) else set()
    return {name for name in names if PRIVATE.match(name)}


def is_listed(name: str, tables: set[str]) -> bool:
    """Return whether a table has the name, something above it that is not a module, or a part of
    it.
    """
    return any(f"{name}.".startswith(f"{n}.") or n.startswith(f"{name}.") for n in tables)


def is_table(file: Path) -> bool:
    return file.parent.name == "torch_private"


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.relative_to(SRC).as_posix())
def test_every_private_name_is_in_a_table(file: Path) -> None:
    names = used(file.read_text(encoding="utf-8"), strings=not is_table(file))
    assert sorted(name for name in names if not is_listed(name, LISTED)) == []


SAMPLE = """
import torch
from unittest import mock
import torch._inductor.config as inductor
from torch._inductor.virtualized import V
from torch._dynamo import pgo, config
from triton.runtime import driver
import triton.backends.nvidia as backend

def f():
    from torch._inductor.codecache import PyCodeCache
    inductor.patch(a=1)
    torch._C._lift(V.graph.module)
    with mock.patch.object(torch._C, "_select", 1), mock.patch("torch.autograd._engine"):
        getattr(pgo, "STATE"), getattr(pgo, "optional", None), torch.nn.Linear, torch.__version__
        backend.__path__
"""


def test_the_reader_sees_what_is_used() -> None:
    assert used(SAMPLE, strings=True) == {
        *("torch._inductor.config", "torch._inductor.config.patch"),
        *("torch._inductor.virtualized.V", "torch._inductor.virtualized.V.graph"),
        *("torch._inductor.virtualized.V.graph.module", "torch._inductor.codecache.PyCodeCache"),
        *("torch._C", "torch._C._lift", "torch._C._select", "torch.autograd._engine"),
        *("torch._dynamo.pgo", "torch._dynamo.pgo.STATE", "torch._dynamo.config"),
        *("triton.runtime.driver", "triton.backends.nvidia", "triton.backends.nvidia.__path__"),
    }


def test_a_name_that_no_table_has_is_seen() -> None:
    tables = {"torch._inductor.config.fx_graph_cache", "torch._inductor.virtualized.V.kernel"}
    assert is_listed("torch._inductor.config", tables)
    assert is_listed("torch._inductor.virtualized.V.kernel.args", tables)
    for name in ("torch._inductor.config.patch", "torch._inductor.virtualized.V.graph"):
        assert not is_listed(name, tables)
