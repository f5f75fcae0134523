"""Each pattern that reads text carries, in the comment above it, a line that it reads.

Of the lines of a comment one at least must match, and must stand in a sample, spaces aside.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.samples.log import SAMPLES

SRC = Path(__file__).resolve().parents[2] / "src"
FILES = [*sorted((SRC / "tclab/capturing").rglob("*.py")), SRC / "tclab/text/scrub.py"]
#: They read a line from its end.
FROM_THE_END = {"_PATH_RULES"}
#: A trace's runnable is read here. tests/capturing/runnable has texts of PyTorch's own.
READ_ELSEWHERE = SRC / "tclab/capturing/runnable"
#: What no sample can hold: places of a machine, colours, what objdump says of other functions,
#: a call without its address, a file's name byte by byte, too long, a graph's key, what a
#: backend that fails says, and what caches say that are off in samples (test_caching.py asks them).
NOT_SAMPLED = {"_ANSI", "_PATH_RULES", "_OTHER_RULES", "_COLOUR", "_SIGNATURE", "_CALLED",
               "_ASSERT_FILE", "_COMPILED_GRAPH", "_BACKEND_ERROR", "_OF_OPERATOR",
               "_CACHE_EVENT", "_UNCACHED_FUNCTION", "_UNCACHED_OPERATOR", "_HEADER"}  # fmt: skip


@dataclass(frozen=True)
class Written:
    """A call of ``re.…``, and the lines of the comment above it."""

    file: Path
    line: int
    name: str  # what the pattern is assigned to, '' inside of a function
    pattern: re.Pattern[str] | None
    comment: list[str]

    def __str__(self) -> str:
        return f"{self.file.relative_to(SRC)}:{self.line}"


def written(file: Path) -> Iterator[Written]:
    source = file.read_text(encoding="utf-8")
    tree = ast.parse(source)
    for statement in tree.body:
        names = [ast.unparse(t) for t in getattr(statement, "targets", [])]
        for call in filter(_is_pattern, ast.walk(statement)):
            name = names[0] if names else ""
            yield Written(file, call.lineno, name, _compiled(file, call) if names else None,
                          _comment(source.splitlines(), call.lineno))  # fmt: skip


def _is_pattern(node: ast.AST) -> bool:
    return (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func.value) == "re" and node.func.attr != "escape")  # fmt: skip


def _compiled(file: Path, call: ast.Call) -> re.Pattern[str]:
    parts = file.relative_to(SRC).with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    return eval(compile(ast.Expression(call), str(file), "eval"), vars(module))


def _comment(lines: list[str], number: int) -> list[str]:
    """The comment above a line, without its first two characters."""
    block: list[str] = []
    for line in reversed(lines[: number - 1]):
        text = line.strip()
        if not text.startswith("#"):
            break
        block.insert(0, text[2:].replace("\\x1b", "\x1b").replace("\\x07", "\x07"))
    return block


@functools.cache
def patterns() -> list[Written]:
    """Return all of them: what imports a room that reads text should not do so at collection."""
    return [found for file in FILES for found in written(file)]


def spaced(text: str) -> str:
    """With single spaces, and without numbers that are others whenever samples are made."""
    return " ".join(re.sub(r"\d{9,}", "…", text).split())


@pytest.fixture(scope="module")
def samples() -> str:
    files = [*SAMPLES.glob("torch-*/*"), *SAMPLES.glob("*.dis")]
    return spaced("\n".join(file.read_text(encoding="utf-8") for file in files))


def test_the_patterns_are_found():
    assert len(patterns()) > 60
    assert {"_COUNTED_NAME", "_LOC", "_LOCATION", "_OTHER_RULES"} <= {p.name for p in patterns()}


def test_a_pattern_carries_a_line_that_it_reads(samples: str) -> None:
    wrong = [f"{found}: {said}" for found in patterns() if (said := what_lacks(found, samples))]
    assert not wrong, "\n".join(wrong)


def what_lacks(found: Written, samples: str) -> str:
    """Return what a pattern's comment lacks; '' if nothing."""
    if not found.comment:
        return "no comment above it"
    if found.pattern is None:  # it depends on an argument
        return ""
    whole = "\n" + "\n".join(found.comment) + "\n"
    way = -1 if found.name in FROM_THE_END else 1
    matched = [line for line in found.comment if found.pattern.search(line[::way])]
    if not found.pattern.search(whole) and not matched:
        return f"{found.pattern.pattern} matches nothing of {found.comment}"
    if found.name in NOT_SAMPLED or found.file.parent == READ_ELSEWHERE:
        return ""
    is_sampled = any(spaced(line) in samples for line in matched or found.comment)
    return "" if is_sampled else "no line of its comment is in a sample"
