"""Complete the HTML of Material's templates: labels for screen readers, and a search index that
loads only when needed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_SEARCH = re.compile(r'(<div class="md-search"[^>]*role="dialog")(?![^>]*aria-label)')
#: A section with its own page; the only label of its list is an icon.
_SECTION = re.compile(
    r'(?P<nav><nav class="md-nav"[^>]*?) aria-labelledby="__nav_\w+_label"(?P<rest>[^>]*>\s*'
    r'<label class="md-nav__title"[^>]*>\s*<span[^>]*></span>\s*(?P<name>[^<]*?)\s*</label>)'
)

#: A listing that the keyboard cannot scroll yet.
_LISTING = re.compile(r"(<pre[^>]*>(?:<span></span>)?<code)(?![^>]*tabindex)")


def label_controls(html: str) -> str:
    """Label the search dialog and the lists of the navigation; make listings focusable."""
    html = _SEARCH.sub(r'\1 aria-label="Search"', html)
    html = _LISTING.sub(r'\1 tabindex="0"', html)
    return _SECTION.sub(r'\g<nav> aria-label="\g<name>"\g<rest>', html)


#: Material's script, which loads the search index at once.
_BUNDLE = re.compile(r'(?=<script src="[^"]*/?assets/javascripts/bundle\.)')

#: Script of ours → the pattern of the place after which it is inserted. early.js runs before any
#: style, colours.js before the first paint, and the others before Material's script.
_SCRIPT_PLACES = {
    "early.js": re.compile(r'<meta charset="utf-8">'),
    "colours.js": re.compile(r"<body[^>]*>"),
    "calm.js": _BUNDLE,
    "index-later.js": _BUNDLE,
}

#: The search worker for file://, which Material's template loads before the rest of the page.
_WORKER = re.compile(r'<script src="[^"]*/?assets/iframe-worker\.js"></script>')


#: Code of the search worker (lunr) that makes a node's id from its edges: `1` to node 23 and `12`
#: to node 3 get the same id, so unrelated words match, and a search for them fails:
#: https://github.com/olivernn/lunr.js/issues/503
_AMBIGUOUS_ID, _UNIQUE_ID = "e=e+s+o.id}return e", 'e=e+s+o.id+";"}return e'


def fix_search_worker(site: Path) -> bool:
    """Fix the node ids in the search worker. Return False if its lunr has other code."""
    (worker,) = site.glob("assets/javascripts/workers/search.*.min.js")
    code = worker.read_text(encoding="utf-8").replace(_AMBIGUOUS_ID, _UNIQUE_ID)
    worker.write_text(code, encoding="utf-8")
    return _UNIQUE_ID in code


@lru_cache
def _make_script(name: str) -> str:
    return f"<script>{Path(__file__).with_name(name).read_text(encoding='utf-8')}</script>"


def insert_scripts(html: str) -> str:
    """Insert the scripts that avoid repeated restyling and that delay loading the search index."""
    if worker := _WORKER.search(html):
        html = _BUNDLE.sub(lambda _: worker[0], html.replace(worker[0], "", 1), count=1)
    for name, place in _SCRIPT_PLACES.items():
        html = place.sub(lambda at, name=name: at[0] + _make_script(name), html, count=1)  # type: ignore[misc]
    return html
