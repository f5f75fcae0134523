"""A page in fewer bytes, and the same page: a tree of several versions has each page several times.

What Material's templates indent is taken together; within the article, where a style may show white
space, none is touched. Classes, ids and the like lose quotes that they do not need; a line of code
keeps its id where a link leads to it.
"""

from __future__ import annotations

import re
from collections.abc import Container

_ARTICLE = re.compile(r"(<article\b.*</article>)", re.DOTALL)
#: Neither is HTML, and a listing has its lines.
_OTHER = re.compile(r"(<(?:script|style)\b.*?</(?:script|style)>|<pre\b.*?</pre>)", re.DOTALL)
_BLANKS = re.compile(r"\s*\n\s*")
_TAG = re.compile(r"<script\b.*?</script>|<[a-z][^<>]*>", re.DOTALL)
#: Not before a slash, which would become a part of the value.
_QUOTED = re.compile(r'(?<= )((?:class|id|for|scope|data-\w+)=)"([\w.:-]+)"(?=[ >])')
_LINE = re.compile(r'<span id="([\w.-]+-L\d+)"')


def compact(html: str, lines: Container[str] = ()) -> str:
    """A page of Material's in fewer bytes; one of another make stays as it is. `lines` are the ids
    of lines to which links lead.
    """
    parts = _ARTICLE.split(html)
    if len(parts) != 3:
        return html
    before, article, after = parts
    article = _LINE.sub(lambda line: line[0] if line[1] in lines else "<span", article)
    return _TAG.sub(_unquoted, f"{_together(before)}{article}{_together(after)}")


def _together(html: str) -> str:
    """With one line break for each that blanks surround."""
    pieces = _OTHER.split(html)
    pieces[::2] = (_BLANKS.sub("\n", piece) for piece in pieces[::2])
    return "".join(pieces)


def _unquoted(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("<script") else _QUOTED.sub(r"\1\2", found[0])
