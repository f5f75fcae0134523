"""What Material's templates leave out: names for readers who hear a page instead of seeing it, and
a search index that is loaded when it is needed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_SEARCH = re.compile(r'(<div class="md-search"[^>]*role="dialog")(?![^>]*aria-label)')
#: A section with a page of its own: the label that names its list holds an icon only.
_SECTION = re.compile(
    r'(?P<nav><nav class="md-nav"[^>]*?) aria-labelledby="__nav_\w+_label"(?P<rest>[^>]*>\s*'
    r'<label class="md-nav__title"[^>]*>\s*<span[^>]*></span>\s*(?P<name>[^<]*?)\s*</label>)'
)

#: A listing of Markdown. Material lets the keyboard into those that it has seen to scroll.
_LISTING = re.compile(r"(<pre[^>]*>(?:<span></span>)?<code)(?![^>]*tabindex)")


def named(html: str) -> str:
    """The page with a name on its search dialog and on each list of its navigation, and with
    listings that the keyboard can scroll.
    """
    html = _SEARCH.sub(r'\1 aria-label="Search"', html)
    html = _LISTING.sub(r'\1 tabindex="0"', html)
    return _SECTION.sub(r'\g<nav> aria-label="\g<name>"\g<rest>', html)


#: Material's own script, which asks for the search index at once.
_BUNDLE = re.compile(r'<script src="[^"]*/?assets/javascripts/bundle\.')


@lru_cache(maxsize=1)
def _index_later() -> str:
    script = Path(__file__).with_name("index-later.js").read_text(encoding="utf-8")
    return f"<script>{script}</script>"


def light(html: str) -> str:
    """The page with a script that has the search index wait until somebody searches."""
    return _BUNDLE.sub(lambda bundle: _index_later() + bundle[0], html, count=1)
