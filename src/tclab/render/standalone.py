"""One HTML file that stands alone: styles and script within, nothing asked of any host."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from tclab import render
from tclab.render.escape import NOTHING, Html, esc, markup

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


def _css() -> str:
    """The site's styles; its dark colours for readers whose system is dark."""
    media = f"@media screen and (prefers-color-scheme: dark) {{ {render.dark(':root')} }}"
    return f"{render.css()}\n{media}\n{_STYLE}"


def _hash(script: str) -> str:
    """A script's name in a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def style(sheet: Path) -> Html:
    """A style sheet as an element."""
    return markup("<style>\n{}</style>", Html(sheet.read_text(encoding="utf-8")))


def page(
    title: str, body: Html, *, language: str = "en", above: Html = NOTHING, script: str = ""
) -> str:
    """`body` (HTML) as a page of its own, under the heading `title` (text); `above` (HTML) stands
    over the heading.

    The page's policy lets it run only its own scripts and load nothing at all, so that it
    shows the same on a laptop, in a mail and behind a firewall. With a `script` of its own
    besides the viewer's it may ask the host it came from.
    """
    scripts = [f"\n{text}" for text in (render.js(), script) if text]
    allowed = " ".join(f"'{_hash(text)}'" for text in scripts)
    asks = "connect-src 'self'; " if script else ""
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; {asks}img-src data:"
    )
    ends = "".join(f"<script>{text}</script>\n" for text in scripts)
    return (
        f'<!doctype html>\n<html lang="{esc(language)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{esc(title)}</title>\n'
        f"<style>\n{_css()}</style>\n</head>\n<body>\n{above}<h1>{esc(title)}</h1>\n{body}\n"
        f"{ends}</body>\n</html>\n"
    )
