"""The keys that lines are linked by are made in one module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tclab
from tclab.model import links

SRC = Path(tclab.__file__).parent
MODULES = sorted(p for p in SRC.rglob("*.py") if p != SRC / "model" / "links.py")
KEY = re.compile(r"^(py|bc|fx|ir|kernel|ttir|ttgir|llir|ptx|sass):")


def strings(tree: ast.Module) -> Iterator[str]:
    """Yield how each text begins that the code works with; an f-string up to its first value."""
    docstrings = {id(s.value) for s in ast.walk(tree) if isinstance(s, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node.value


def test_no_other_module_writes_or_reads_a_key() -> None:
    for module in MODULES:
        texts = strings(ast.parse(module.read_text(encoding="utf-8")))
        assert [text for text in texts if KEY.match(text)] == [], module


def test_a_key_is_seen_where_it_is_written() -> None:
    tree = ast.parse('"""py:docs"""\nf"fx:{stage}:x"\nkey.startswith("py:")\nx = "kernel:0.1:2"\n')
    assert {t for t in strings(tree) if KEY.match(t)} == {"py:", "kernel:0.1:2", "fx:"}


def test_what_keys_look_like() -> None:
    assert links.python_key("a b.py", 12) == "py:a b.py:12"
    assert links.parse_python_key("py:C:/x.py:12") == ("C:/x.py", 12)
    assert links.parse_python_key("fx:forward:0:add") is None
    assert links.bytecode_key("1/0", 24) == "bc:1/0:24"
    assert links.node_key("forward", 0, "add_1") == "fx:forward:0:add_1"
    assert (links.ir_key(0, "op1"), links.ir_key(0, "op1", "tmp0")) == ("ir:0:op1", "ir:0:op1:tmp0")
    assert links.kernel_key(0, 1, 7) == "kernel:0.1:7"
    assert links.is_kernel_key("kernel:0.1:7") and not links.is_kernel_key("ptx:0.1:line 7")
    assert links.triton_key("ptx", 0, 1, "line 7") == "ptx:0.1:line 7"
    assert links.merge_keys([("a", "b"), (), ("b", "c")]) == ("a", "b", "c")
