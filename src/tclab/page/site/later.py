"""Parts of a page that a browser asks for when they are opened: each a file of its own.

Machine code is most of a page's bytes and the last thing anybody reads. What a figure marks
with `tclab-later` goes into a page of its own beside the one it belongs to; a plain link to it
stays, which the site's script turns into the code when its fold is opened. The machine code of a
chain goes into files that its viewer asks for.
"""

from __future__ import annotations

import html as entities
import re

from tclab.page.blocks import Page
from tclab.render.escape import esc, tag
from tclab.render.viewer import elsewhere

#: Where the machine code of chains is kept.
_CODE = "assets/code"

_HELD = re.compile(
    r'<tclab-later data-ids="(?P<ids>[^"]*)" data-title="(?P<title>[^"]*)">'
    r"(?P<body>.*?)</tclab-later>",
    re.DOTALL,
)

_STYLE = (
    "body{margin:0;padding:1rem;font-family:system-ui,sans-serif;"
    "background:var(--tclab-bg);color:var(--tclab-fg)}"
    ".tclab-code>pre>code{max-height:none}a{color:var(--tclab-link)}"
)


def put_aside(page: Page, html: str) -> str:
    """The HTML with links in place of the parts, which are added to the page's files."""

    def replace(match: re.Match[str]) -> str:
        path = f"{page.url.removesuffix('.html')}/{match['ids']}.html"
        title = entities.unescape(match["title"])
        page.files[path] = _document(page, path, title, match["body"])
        link = tag("a", f"{match['title']}, on a page of its own", href=page.link(path))
        return tag("p", link, class_="tclab-later", data_ids=match["ids"])

    moved = elsewhere.moved(html, _CODE, page.link(_CODE))
    page.files.update(moved.files)
    return _HELD.sub(replace, moved.html)


def _document(page: Page, path: str, title: str, body: str) -> str:
    """A page that shows one part, without the script too, and leads back."""
    up = "../" * path.count("/")
    ids = path.rsplit("/", 1)[1].removesuffix(".html")
    head = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="robots" content="noindex"><title>{esc(title)}</title>'
        f'<link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="{up}assets/tclab/tclab.css"><style>{_STYLE}</style></head>'
    )
    back = tag("p", tag("a", "Back to where it belongs", href=f"{up}{page.url}#{ids}"))
    return f"{head}<body>{back}{tag('h1', esc(title))}{body}</body></html>\n"
