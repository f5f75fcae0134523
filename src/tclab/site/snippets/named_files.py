"""Find the files that a Python file names in its string literals, whatever program reads them.

A run notes which files Python opens (`opened_files`), but not which files C++ or another program
opens. So a file counts if a string literal of the source is its path, relative to the project's
folder or to the folder of the Python file:

    torch.load("snippets/quantised/scales.pt")
    (Path(__file__).parent / "data" / "rows.csv").read_text()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def named_files(path: Path, root: Path) -> set[Path]:
    """Return the files below `root` that the string literals of the Python file `path` name; none
    if `path` cannot be parsed.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()
    named = {
        folder / text
        for text in _path_texts(tree)
        for folder in (path.parent, root)
        if _may_be_a_file(text)
    }
    resolved = {each.resolve() for each in named if each.is_file()}
    return {each for each in resolved if each.is_relative_to(root)} - {path.resolve()}


def _may_be_a_file(text: str) -> bool:
    """Return whether a string literal can be a file's path; most literals are prose or code."""
    return 0 < len(text) < 256 and text.isprintable() and not text.endswith(("/", "."))


def _path_texts(tree: ast.AST) -> Iterator[str]:
    """Yield each string literal of the tree, and each path that ``/`` or a call such as ``join``
    makes of string literals: ``data/rows.csv``.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield "/".join(_texts_at_the_end(list(_split_path(node))))
        elif isinstance(node, ast.Call):
            yield "/".join(_texts_at_the_end(node.args))


def _split_path(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of ``folder / "data" / "rows.csv"``, in order."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield from _split_path(node.left)
        yield node.right
    else:
        yield node


def _texts_at_the_end(parts: list[ast.expr]) -> list[str]:
    """Return the string literals after the last part that is not a string literal."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            texts.append(part.value)
        else:
            texts.clear()
    return texts
