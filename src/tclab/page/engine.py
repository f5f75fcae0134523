"""Tie markdown-exec to `blocks`: its Python fences run there, each knowing its place.

markdown-exec publishes the traceback of a failing block and lets the build end
well; `sys.exit` in a block ends the build without a word. Here every failure is
collected in the build, and the hooks end it with all of them.
"""

from __future__ import annotations

from typing import Any

import markdown_exec

from tclab.errors import TclabError
from tclab.page import blocks, state
from tclab.page.prose import fences, uses


def install() -> None:
    """Let markdown-exec run Python fences through this engine."""
    for language in ("python", "py"):
        markdown_exec.formatters[language] = _format


def mark(text: str, page: str, url: str, first_line: int = 1) -> str:
    """The page's Markdown, each executable fence marked with the place it stands at."""
    lines = text.split("\n")
    headings = state.build().page(page, url).headings
    found = fences.find(text, page)
    for fence in found:
        if fence.executed:
            uses.check(fence, page)
            place = f' page="{page}" url="{url}" line="{first_line + fence.line - 1}"'
            lines[fence.line - 1] += place
            headings[first_line + fence.line - 1] = _heading(lines, found, fence)
            state.build().expected[page] += 1
    return "\n".join(lines)


def _heading(lines: list[str], found: list[fences.Fence], fence: fences.Fence) -> str:
    """The heading a fence stands under, if it is the first one there; else ''."""
    before = max((other.end for other in found if other.end < fence.line), default=0)
    between = lines[before : fence.line - 1]
    return next((line.lstrip("# ") for line in reversed(between) if line.startswith("#")), "")


def _format(**kwargs: Any) -> Any:
    return markdown_exec.base_format(language="python", run=_run, **kwargs)


def _run(code: str, *, page: str = "?", url: str = "", line: str = "0", **_: Any) -> str:
    build = state.build()
    build.executed[page] += 1
    try:
        return blocks.execute(code, blocks.Block(build.page(page, url), int(line)))
    except TclabError as error:
        build.failures.append(error)
        return "<!-- this block failed; the build ends with its error -->"
