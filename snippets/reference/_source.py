"""Where a function of PyTorch stands, and the comments of a file of settings."""

import ast
import inspect
import re
from pathlib import Path

import torch

ROOT = Path(torch.__file__).parents[1]

#: Marks for PyTorch's own tools, which tell a reader nothing.
_FOR_TOOLS = re.compile(r"^\[@compile_ignored|^type: ignore|^pyrefly|^noqa|^TODO|^@")


def place(function):
    """``torch/_decomp/decompositions.py:219`` of the function below all wrappers; None for none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or not Path(code.co_filename).is_relative_to(ROOT):
        return None
    return f"{Path(code.co_filename).relative_to(ROOT).as_posix()}:{code.co_firstlineno}"


def assignments(body, prefix=""):
    """(name, statement) of each setting of a module, those in its classes included."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from assignments(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If):
            yield from assignments([*node.body, *node.orelse], prefix)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield prefix + node.target.id, node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield prefix + node.targets[0].id, node


def comment(lines, node):
    """The words of the comment right above a statement, and of the one behind it."""
    above = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.strip().startswith("#"):
            break
        above.insert(0, line)
    behind = re.search(r"(?<!['\"])#(?![^'\"]*['\"]).*", lines[node.end_lineno - 1])
    found = [*above, *([behind[0]] if behind else [])]
    words = [line.strip().lstrip("#").strip() for line in found]
    return " ".join(word for word in words if word and not _FOR_TOOLS.match(word))


def first_sentence(comment):
    """The first sentence of a comment, at most 160 characters of it."""
    sentence = re.split(r"(?<=\.) (?=[A-Z])", comment, maxsplit=1)[0]
    return sentence if len(sentence) <= 160 else f"{sentence[:160].rpartition(' ')[0]} …"


def settings(module):
    """Name → (value as written, environment variables read, comment, ``file:line``)."""
    path = Path(module.__file__)
    text = path.read_text()
    lines = text.splitlines()
    found = {}
    for name, node in assignments(ast.parse(text).body):
        written = ast.unparse(node.value) if node.value else ""
        variables = re.findall(r"'([A-Z][A-Z0-9]*_[A-Z0-9_]+)'", written)
        line = f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
        found[name] = written, tuple(dict.fromkeys(variables)), comment(lines, node), line
    return found
