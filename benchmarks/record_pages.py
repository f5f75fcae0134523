"""An MkDocs hook that writes each page with its executable fences replaced by their output."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority

from tclab.page import blocks

_outputs: dict[tuple[str, int], str] = {}
_pages: dict[str, str] = {}
_execute = blocks.execute

#: A fence that `tclab.page.engine` has marked with its place, up to its end.
MARKED = re.compile(
    r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})[^\n]* page=\"(?P<page>[^\"]+)\"[^\n]* "
    r"line=\"(?P<line>\d+)\"[^\n]*\n.*?^(?P=indent)(?P=ticks) *$",
    re.MULTILINE | re.DOTALL,
)


def _recording(code: str, block: blocks.Block) -> str:
    html = _execute(code, block)
    _outputs[block.page, block.line] = html
    return html


blocks.execute = _recording


@event_priority(-100)
def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Keep the page's Markdown as it goes into the renderer."""
    _pages[page.file.src_uri] = markdown
    return markdown


def on_post_build(config: Any, **_: Any) -> None:
    """Write the pages."""
    folder = Path(os.environ["RECORD_PAGES"])
    for name, text in _pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MARKED.sub(_output, text), encoding="utf-8")
    if not _outputs:
        raise RuntimeError("no fence was executed: the comparison would mean nothing")


def _output(match: re.Match[str]) -> str:
    html = _outputs[match["page"], int(match["line"])]
    return f"\n<div>\n{html}\n</div>\n"
