"""Make a self-contained HTML file, which includes styles and scripts and makes no requests."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from tclab import render
from tclab.render.escape import NOTHING, Html, esc, markup

if TYPE_CHECKING:
    from importlib.abc import Traversable

_STYLE = """
:root { color-scheme: light dark; }
body { max-width: 110rem; margin: 0 auto; padding: 1.2rem clamp(.8rem, 2vw, 2.5rem) 4rem;
  background: var(--tclab-bg); color: var(--tclab-fg);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
body > :is(p, ul, ol, dl) { max-width: 48rem; }
h1 { margin: .2em 0 .6em; font-size: 1.7rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 2em 0 .6em; font-size: 1.25rem; }
h3 { margin: 1.6em 0 .5em; font-size: 1.05rem; }
a { color: var(--tclab-link); }
code { font-family: var(--tclab-mono); font-size: .92em; }
:is(h1, h2, h3, p, li, summary) { overflow-wrap: anywhere; }
@media print { body { max-width: none; padding: 0; } }
"""


def _script_hash(script: str) -> str:
    """Return the hash of a script for a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def style_element(sheet: Traversable) -> Html:
    """Return a style sheet as an element."""
    return markup("<style>\n{}</style>", Html(sheet.read_text(encoding="utf-8")))


def page(
    title: str, body: Html, *, language: str = "en", header: Html = NOTHING, script: str = ""
) -> str:
    """Return a page with `body` (HTML) below the heading `title` (text); `header` (HTML) is placed
    above the heading.

    The page's content security policy allows only its own scripts and no requests, so that it
    looks the same from a disk, in a mail and behind a firewall. A page with an additional
    `script` may send requests to its own host.
    """
    scripts = [f"\n{text}" for text in (render.js(), script) if text]
    hashes = " ".join(f"'{_script_hash(text)}'" for text in scripts)
    connect = "connect-src 'self'; " if script else ""
    styles = "default-src 'none'; style-src 'unsafe-inline'"
    policy = f"{styles}; script-src {hashes}; {connect}img-src data:"
    script_elements = "".join(f"<script>{text}</script>\n" for text in scripts)
    return (
        f'<!doctype html>\n<html lang="{esc(language)}" class="tclab-alone">\n'
        '<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{esc(title)}</title>\n'
        f"<style>\n{render.css()}\n{_STYLE}</style>\n</head>\n<body>\n{header}<h1>{esc(title)}</h1>\n{body}\n"
        f"{script_elements}</body>\n</html>\n"
    )
