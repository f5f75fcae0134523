"""A snippet's caption, which is Markdown, as HTML."""

from __future__ import annotations

from functools import cache

from markdown import Markdown

from tclab.model import Snippet
from tclab.page import references

_EXTENSIONS = ["tables", "attr_list", "def_list", "pymdownx.superfences"]


@cache
def caption_html(snippet: Snippet) -> str:
    """The caption as HTML; its source references are links. PageError for one that is wrong."""
    if not snippet.caption.strip():
        return ""
    text, problems = references.link(snippet.caption, f"snippets/{snippet.name}.py", 3)
    if problems:
        raise problems[0]
    return Markdown(extensions=_EXTENSIONS).convert(text)
