"""Shrink a page's HTML without changing the page, because a tree of versions has many copies.

The indentation of Material's templates is removed, but all white space in the article is kept,
because a style may show it there. Quotes that attributes do not need are removed, and so are ids of
code lines to which no link leads.
"""

from __future__ import annotations

import re
from collections.abc import Container

_ARTICLE = re.compile(r"(<article\b.*</article>)", re.DOTALL)
#: Elements whose white space must be kept.
_SCRIPT_OR_LISTING = re.compile(
    r"(<(?:script|style)\b.*?</(?:script|style)>|<pre\b.*?</pre>)", re.DOTALL
)
_BLANKS = re.compile(r"\s*\n\s*")
_TAG = re.compile(r"<script\b.*?</script>|<[a-z][^<>]*>", re.DOTALL)
#: An attribute with needless quotes. Before a slash the quotes are needed, or the slash would
#: become part of the value.
_NEEDLESS_QUOTES = re.compile(r'(?<= )((?:class|id|for|scope|data-\w+)=)"([\w.:-]+)"(?=[ >])')
_LINE = re.compile(r'<span id="([\w.-]+-L\d+)"')


def compact(html: str, lines: Container[str] = ()) -> str:
    """Shrink a page of Material's templates; return any other page unchanged.

    `lines` has the ids of the code lines to which links lead.
    """
    parts = _ARTICLE.split(html)
    if len(parts) != 3:
        return html
    before, article, after = parts
    article = _LINE.sub(lambda line: line[0] if line[1] in lines else "<span", article)
    return _TAG.sub(
        _remove_quotes, f"{_merge_blank_lines(before)}{article}{_merge_blank_lines(after)}"
    )


def _merge_blank_lines(html: str) -> str:
    """Replace each run of white space with a line break in it by one line break."""
    pieces = _SCRIPT_OR_LISTING.split(html)
    pieces[::2] = (_BLANKS.sub("\n", piece) for piece in pieces[::2])
    return "".join(pieces)


def _remove_quotes(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith("<script") else _NEEDLESS_QUOTES.sub(r"\1\2", match[0])
