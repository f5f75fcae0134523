"""Which snippets the pages use, read from their fences without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tclab.errors import PageError
from tclab.page.prose.fences import Fence
from tclab.page.prose.markdown import MarkdownText

#: Functions of `tclab.page` whose first argument is a snippet's name.
FUNCTIONS = ("snippet", "awaited", "code", "show", "stdout", "entries", "calls", "changes",
             "verdicts")  # fmt: skip
#: Those of them that put its source on the page.
LISTING = ("snippet", "awaited", "code")
#: And those that put its title and caption there.
CAPTIONED = ("snippet", "awaited")


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


def of(text: MarkdownText) -> Iterator[Use]:
    """The uses on a page. PageError for a fence that cannot be read or executed."""
    for fence in text.fences:
        if fence.executed:
            _check(fence, text.page)
            yield from _in_fence(fence, text.page)


def _check(fence: Fence, page: str) -> None:
    """PageError unless the fence is one that this build can execute faithfully."""
    place = f"{page}:{fence.line}"
    if fence.language not in ("python", "py"):
        cause = f"an executable fence must be python, not {fence.language or 'nameless'}"
        raise PageError(place, cause, "put the code into a snippet, and show that")
    if not fence.on("html"):
        cause = 'an executable fence without html="1": its output would be read as Markdown'
        raise PageError(place, cause, 'write it as: python exec="1" html="1"')


def _in_fence(fence: Fence, page: str) -> Iterator[Use]:
    """The calls of FUNCTIONS in one fence, whose names must be literal."""
    try:
        calls = fence.calls
    except SyntaxError as error:
        place = f"{page}:{fence.line + (error.lineno or 1)}"
        raise PageError(place, f"SyntaxError: {error.msg}", "correct the block") from None
    for call in calls:
        if called(call) in FUNCTIONS:
            line = fence.line + call.lineno
            yield Use(page, line, called(call), _literal(call, f"{page}:{line}"))


def called(call: ast.Call) -> str:
    """The function's name; '' where it is not called by its bare name."""
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _literal(call: ast.Call, place: str) -> str:
    first = call.args[0] if call.args else next((k.value for k in call.keywords), None)
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    cause = f"{called(call)}() needs a snippet's name as a literal, so that it can run beforehand"
    raise PageError(place, cause, f'write {called(call)}("topic/what_it_shows")')
