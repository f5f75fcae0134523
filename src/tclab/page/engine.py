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
from tclab.page.prose.fences import Fence
from tclab.page.prose.text import PageText


def install() -> None:
    """Let markdown-exec run Python fences through this engine."""
    for language in ("python", "py"):
        markdown_exec.formatters[language] = _format


def mark(markdown: str, text: PageText, url: str) -> str:
    """The page's Markdown, line for line that of `text`, each executable fence marked with the
    place it stands at.
    """
    lines = markdown.split("\n")
    headings = state.build().page(text.page, url).headings
    for fence in text.fences:
        if fence.executed:
            at = fence.line - text.first_line
            lines[at] += f' page="{text.page}" url="{url}" line="{fence.line}"'
            headings[fence.line] = _heading(text, fence)
            state.build().expected[text.page] += 1
    return "\n".join(lines)


def _heading(text: PageText, fence: Fence) -> str:
    """The heading a fence stands under, if it is the first one there; else ''."""
    before = max((other.end for other in text.fences if other.end < fence.line), default=0)
    between = [heading.words for heading in text.headings if before < heading.line < fence.line]
    return between[-1] if between else ""


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
