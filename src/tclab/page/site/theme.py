"""What Material's templates leave out for readers who hear a page instead of seeing it."""

from __future__ import annotations

import re

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
