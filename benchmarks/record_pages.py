"""Define an MkDocs hook that writes each page with its executable fences replaced by their
output.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority

from tclab.site.pages import block_runner
from tclab.site.pages.prose.blocks import Block
from tclab.site.pages.prose.markdown import MarkdownText
from tclab.site.pages.rendering import Page

_outputs: dict[str, list[str]] = {}
_pages: dict[str, str] = {}
_execute = block_runner.execute_block


def _recording(block: Block, on: Page) -> str:
    html = _execute(block, on)
    _outputs.setdefault(on.path, []).append(html)
    return html


block_runner.execute_block = _recording


@event_priority(-100)
def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Keep the page's Markdown as the renderer gets it."""
    _pages[page.file.src_uri] = markdown
    return markdown


def on_post_build(config: Any, **_: Any) -> None:
    """Write the pages."""
    folder = Path(os.environ["RECORD_PAGES"])
    for name, text in _pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_pasted(text, _outputs.get(f"docs/{name}", [])), encoding="utf-8")
    if not _outputs:
        raise RuntimeError("no fence was executed: the comparison would mean nothing")


def _pasted(text: str, outputs: list[str]) -> str:
    """Return the Markdown with these outputs in place of its executable fences."""
    lines = text.split("\n")
    fences = [fence for fence in MarkdownText("", text).fences if fence.is_executed]
    for fence, html in reversed([*zip(fences, outputs, strict=True)]):
        lines[fence.line - 1 : fence.end] = ["", "<div>", html, "</div>", ""]
    return "\n".join(lines)
