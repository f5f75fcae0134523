"""Keep machine code and long listings in files beside the page, so that the page loads fast.

A column of a chain becomes a script and a text file. The viewer loads the script when the reader
opens the column (over ``file://`` a page may load scripts, but no data). The text file is for
readers without JavaScript. The scripts hold gzip data, since a site of several versions has
hundreds of scripts. A listing becomes its own page. The original page keeps a link to it, which the
site's script replaces by the code when the fold is opened.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from tclab.render.delivery import BareCode, Code, Delivery
from tclab.render.delivery.compressed import pack, pane_content
from tclab.render.escape import Html, esc, identifier, one_line, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The folder of a site with the machine code of chains.
FOLDER = "assets/code"

_HEAD = "(the line of the kernel, or of the stage named, that it came from; then the code)"

_STYLE = (
    ":root{color-scheme:light dark}body{margin:0;padding:1rem;font-family:system-ui,sans-serif;"
    "background:var(--tclab-bg);color:var(--tclab-fg)}"
    "h1{font-size:1.25rem;overflow-wrap:anywhere}a{color:var(--tclab-link)}"
    ".tclab-code>pre>code{max-height:none}"
)


class Files(Delivery):
    """Collects the files of the page at `url` in `files`, which maps a path in the site to the
    content.
    """

    def __init__(self, url: str) -> None:
        self.url, self.files = url, dict[str, str]()

    def _relative_path(self, path: str) -> str:
        return "../" * self.url.count("/") + path

    def deliver_column(self, chain: str, stage: str, panes: Sequence[Code]) -> Sequence[Html]:
        """Return a link for each pane of bare code. All panes share one script and one text."""
        bare = [pane for pane in panes if isinstance(pane, BareCode)]
        if not bare:
            return super().deliver_column(chain, stage, panes)
        path = f"{FOLDER}/{chain}-{identifier(stage)}-{_digest(bare)}"
        self.files[f"{path}.js"] = _script(_name(path), bare)
        self.files[f"{path}.txt"] = "\n\n".join(map(_format_text, bare))
        return [self._draw_link(path, part, pane) for part, pane in enumerate(bare)]

    def _draw_link(self, path: str, part: int, pane: BareCode) -> Html:
        address = self._relative_path(path)
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

    def deliver_listing(self, body: Html, title: str, ident: str) -> Html:
        """Return a link to a page that shows the listing."""
        path, title = f"{self.url.removesuffix('.html')}/{ident}.html", one_line(title)
        self.files[path] = _make_document(path, title, body, f"{self.url}#{ident}")
        link = tag("a", esc(f"{title}, on a page of its own"), href=self._relative_path(path))
        return tag("p", link, class_="tclab-later", data_ids=ident)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[1]


def _digest(panes: Sequence[BareCode]) -> str:
    text = "\0".join(pane.html for pane in panes)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _script(name: str, panes: Sequence[BareCode]) -> str:
    return f"tclabCode({json.dumps(name)}, {json.dumps(pack(list(map(pane_content, panes))))});\n"


def _format_text(pane: BareCode) -> str:
    """Return a listing as plain text, with the origin before each line."""
    lines = pane.text.removesuffix("\n").split("\n")
    widest = max(map(len, pane.origins))
    numbered = (
        f"{origin:>{widest}}  {line}" for origin, line in zip(pane.origins, lines, strict=False)
    )
    return "\n".join([one_line(pane.title), _HEAD, "", *numbered, ""])


def _make_document(path: str, title: str, body: Html, owner: str) -> str:
    """Return a page for one listing, without scripts and with a link back to the page `owner`.
    `path` and `owner` are relative to the site's root.
    """
    root = "../" * path.count("/")
    head = (
        f'<!doctype html>\n<html lang="en" class="tclab-alone"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="robots" content="noindex"><title>{esc(title)}</title>'
        f'<link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="{root}assets/tclab/tclab.css"><style>{_STYLE}</style></head>'
    )
    back_link = tag("p", tag("a", esc("Back to where it belongs"), href=f"{root}{owner}"))
    return f"{head}<body>{back_link}{tag('h1', esc(title))}{body}</body></html>\n"
