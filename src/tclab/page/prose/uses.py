"""Which snippets the pages use, read from their fences without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tclab.errors import PageError
from tclab.page.prose import fences

#: Functions of `tclab.page` whose first argument is a snippet's name.
FUNCTIONS = ("snippet", "awaited", "code", "show", "stdout", "entries", "calls", "verdicts")
#: Those of them that put its source on the page.
LISTING = ("snippet", "awaited", "code")


@dataclass(frozen=True)
class Use:
    """One call on a page: `page` relative to the project's root, `line` of the call."""

    page: str
    line: int
    function: str
    snippet: str

    @property
    def lists_code(self) -> bool:
        """Whether it puts the snippet's source on the page."""
        return self.function in LISTING

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def in_folder(docs: Path, root: Path) -> list[Use]:
    """The uses on every Markdown page under `docs`, page by page."""
    pages = sorted(docs.rglob("*.md"))
    return [use for page in pages for use in on_page(page, root)]


def on_page(path: Path, root: Path) -> list[Use]:
    """The uses on one page. PageError for a fence that cannot be read or executed."""
    page = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8")
    found: list[Use] = []
    for fence in fences.find(text, page):
        if fence.executed:
            check(fence, page)
            found.extend(in_fence(fence, page))
    return found


def check(fence: fences.Fence, page: str) -> None:
    """PageError unless the fence is one that this build can execute faithfully."""
    place = f"{page}:{fence.line}"
    if fence.language not in ("python", "py"):
        cause = f"an executable fence must be python, not {fence.language or 'nameless'}"
        raise PageError(place, cause, "put the code into a snippet, and show that")
    if not fence.on("html"):
        cause = 'an executable fence without html="1": its output would be read as Markdown'
        raise PageError(place, cause, 'write it as: python exec="1" html="1"')


def in_fence(fence: fences.Fence, page: str) -> Iterator[Use]:
    """The calls of FUNCTIONS in one fence, whose names must be literal."""
    for node in ast.walk(_parse(fence, page)):
        if isinstance(node, ast.Call) and _called(node) in FUNCTIONS:
            line = fence.line + node.lineno
            yield Use(page, line, _called(node), _literal(node, f"{page}:{line}"))


def _parse(fence: fences.Fence, page: str) -> ast.Module:
    try:
        return ast.parse(fence.code)
    except SyntaxError as error:
        place = f"{page}:{fence.line + (error.lineno or 1)}"
        raise PageError(place, f"SyntaxError: {error.msg}", "correct the block") from None


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _literal(call: ast.Call, place: str) -> str:
    first = call.args[0] if call.args else next((k.value for k in call.keywords), None)
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    cause = f"{_called(call)}() needs a snippet's name as a literal, so that it can run beforehand"
    raise PageError(place, cause, f'write {_called(call)}("topic/what_it_shows")')
