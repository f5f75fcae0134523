"""Machine code and long listings in files beside the page: it is read long before its SASS is.

A column of a chain becomes a script, which the viewer asks for when the column is opened (a script
may be loaded over ``file://``, where data may not), and a text for readers without scripts. The
script holds gzip: a site of several versions has hundreds of them. A
listing becomes a page of its own; a plain link to it stays, which the site's script turns into the
code when its fold is opened.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from tclab.render.delivery import BareCode, Code, Delivery
from tclab.render.delivery.compressed import content, packed
from tclab.render.escape import Html, esc, identifier, one_line, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Where a site keeps the machine code of chains.
FOLDER = "assets/code"

_HEAD = "(the line of the kernel, or of the stage named, that it came from; then the code)"

_STYLE = (
    "body{margin:0;padding:1rem;font-family:system-ui,sans-serif;"
    "background:var(--tclab-bg);color:var(--tclab-fg)}"
    ".tclab-code>pre>code{max-height:none}a{color:var(--tclab-link)}"
)


class Files(Delivery):
    """What a page of a site, at `url`, has in `files` of their own: path in the site → content."""

    def __init__(self, url: str) -> None:
        self.url, self.files = url, dict[str, str]()

    def _link(self, path: str) -> str:
        return "../" * self.url.count("/") + path

    def column(self, chain: str, stage: str, panes: Sequence[Code]) -> Sequence[Html]:
        """A link for each pane of bare code; all of them share a script and a text."""
        bare = [pane for pane in panes if isinstance(pane, BareCode)]
        if not bare:
            return super().column(chain, stage, panes)
        path = f"{FOLDER}/{chain}-{identifier(stage)}-{_digest(bare)}"
        self.files[f"{path}.js"] = _script(_name(path), bare)
        self.files[f"{path}.txt"] = "\n\n".join(map(_text, bare))
        return [self._linked(path, part, pane) for part, pane in enumerate(bare)]

    def _linked(self, path: str, part: int, pane: BareCode) -> Html:
        address = self._link(path)
        link = tag("a", esc(one_line(pane.title)), href=f"{address}.txt")
        return tag(
            "div",
            tag("p", esc("In a file of its own: "), link),
            class_="tclab-away",
            data_code=_name(path),
            data_part=part,
            data_src=f"{address}.js",
            style=pane.style,
        )

    def listing(self, body: Html, title: str, ident: str) -> Html:
        """A link to a page that shows the listing."""
        path, title = f"{self.url.removesuffix('.html')}/{ident}.html", one_line(title)
        self.files[path] = _document(path, title, body, f"{self.url}#{ident}")
        link = tag("a", esc(f"{title}, on a page of its own"), href=self._link(path))
        return tag("p", link, class_="tclab-later", data_ids=ident)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[1]


def _digest(panes: Sequence[BareCode]) -> str:
    text = "\0".join(pane.html for pane in panes)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _script(name: str, panes: Sequence[BareCode]) -> str:
    return f"tclabCode({json.dumps(name)}, {json.dumps(packed(list(map(content, panes))))});\n"


def _text(pane: BareCode) -> str:
    """A listing for reading: each line behind the line that it came from."""
    lines = pane.text.removesuffix("\n").split("\n")
    wide = max(map(len, pane.origins))
    numbered = (f"{o:>{wide}}  {line}" for o, line in zip(pane.origins, lines, strict=False))
    return "\n".join([one_line(pane.title), _HEAD, "", *numbered, ""])


def _document(path: str, title: str, body: Html, owner: str) -> str:
    """The page at `path` that shows one listing, without the script too, and leads back to its
    `owner`, both addresses from the site's root.
    """
    up = "../" * path.count("/")
    head = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="robots" content="noindex"><title>{esc(title)}</title>'
        f'<link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="{up}assets/tclab/tclab.css"><style>{_STYLE}</style></head>'
    )
    back = tag("p", tag("a", esc("Back to where it belongs"), href=f"{up}{owner}"))
    return f"{head}<body>{back}{tag('h1', esc(title))}{body}</body></html>\n"
