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
_BUNDLE = re.compile(r'(?=<script src="[^"]*/?assets/javascripts/bundle\.)')

#: The scripts of a page's own, each behind what stands before it: before anything is styled, before
#: anything is painted, before Material's script.
_PLACES = {
    "early.js": re.compile(r'<meta charset="utf-8">'),
    "colours.js": re.compile(r"<body[^>]*>"),
    "calm.js": _BUNDLE,
    "index-later.js": _BUNDLE,
}

#: The worker of the search over file://, for which Material's template has every page wait.
_WORKER = re.compile(r'<script src="[^"]*/?assets/iframe-worker\.js"></script>')


#: Where the search's worker (lunr) names a node of its index by its edges: `1` to node 23 and `12`
#: to node 3 have one name, so that words that are nowhere seem to be there, and asking for them
#: ends in an error: https://github.com/olivernn/lunr.js/issues/503
_NAME, _UNIQUE = "e=e+s+o.id}return e", 'e=e+s+o.id+";"}return e'


def mend_search(site: Path) -> bool:
    """Have the search's worker tell its index's nodes apart; False where it is another lunr."""
    (worker,) = site.glob("assets/javascripts/workers/search.*.min.js")
    code = worker.read_text(encoding="utf-8").replace(_NAME, _UNIQUE)
    worker.write_text(code, encoding="utf-8")
    return _UNIQUE in code


@lru_cache
def _script(name: str) -> str:
    return f"<script>{Path(__file__).with_name(name).read_text(encoding='utf-8')}</script>"


def light(html: str) -> str:
    """The page with scripts that keep Material's from styling it again and again, and have the
    search index wait until somebody searches.
    """
    if worker := _WORKER.search(html):
        html = _BUNDLE.sub(lambda _: worker[0], html.replace(worker[0], "", 1), count=1)
    for name, place in _PLACES.items():
        html = place.sub(lambda at, name=name: at[0] + _script(name), html, count=1)  # type: ignore[misc]
    return html
