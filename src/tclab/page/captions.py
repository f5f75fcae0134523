"""A snippet's caption, which is Markdown, as HTML."""

from __future__ import annotations

from markdown import Markdown  # type: ignore[import-untyped, unused-ignore]

from tclab.model import Snippet
from tclab.page import fragments
from tclab.page.prose import installed, references
from tclab.page.prose.markdown import MarkdownText
from tclab.render.escape import NOTHING, Html

_EXTENSIONS = ["tables", "attr_list", "def_list", "pymdownx.superfences"]


def caption_html(snippet: Snippet) -> Html:
    """The caption as HTML; its source references are links. PageError for one that is wrong."""
    if not snippet.caption.strip():
        return NOTHING

    def make() -> Html:
        caption = MarkdownText(snippet.file, snippet.caption, _first_line(snippet))
        text, problems = references.link(caption)
        if problems:
            raise problems[0]
        return Html(Markdown(extensions=_EXTENSIONS).convert(text))

    return fragments.cached_html(
        make, "caption", snippet.name, snippet.source, installed.versions()
    )


def _first_line(snippet: Snippet) -> int:
    """The line of the file on which the caption begins."""
    first = snippet.caption.split("\n", 1)[0]
    lines = snippet.source.splitlines()
    return next((n for n, line in enumerate(lines, 1) if line.strip() == first.strip()), 1)
