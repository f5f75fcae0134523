"""Machine code out of a page, into files of its own: a page is read long before its SASS is.

A stage of a chain becomes a script, which the viewer asks for when the stage is opened (a script
may be loaded over ``file://``, where data may not), and a text for readers without scripts.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tclab.render.escape import esc

#   <div class="tclab-two" data-chain="c" data-stage="sass" style="--cols:80;--h:300"><pre …>origins
#   </pre><pre … data-noise="0 1 2" aria-label="SASS of k">code</pre></div>
_CODE = re.compile(
    r'<div class="tclab-two" data-chain="(?P<chain>[^"]*)" data-stage="(?P<stage>[^"]*)"'
    r' style="(?P<sizes>[^"]*)"><pre [^>]*>\n(?P<origins>[^<]*)</pre>'
    r'<pre [^>]*data-noise="(?P<noise>[^"]*)" aria-label="(?P<title>[^"]*)">\n(?P<code>[^<]*)'
    r"</pre></div>"
)


@dataclass(frozen=True)
class Page:
    """A page without its machine code, and the files that hold it: path → content."""

    html: str
    files: Mapping[str, str]


def moved(page: str, folder: str, link: str) -> Page:
    """`page` with its machine code in files below `folder`, to which `link` leads from the page."""
    stages: dict[tuple[str, str], list[re.Match[str]]] = defaultdict(list)
    for match in _CODE.finditer(page):
        stages[match["chain"], match["stage"]].append(match)
    files: dict[str, str] = {}
    places: dict[int, str] = {}
    for (chain, stage), listings in stages.items():
        name = f"{chain}-{stage}-{_digest(listings)}"
        files[f"{folder}/{name}.js"] = _script(name, listings)
        files[f"{folder}/{name}.txt"] = "\n\n".join(map(_text, listings))
        for part, match in enumerate(listings):
            places[match.start()] = _placeholder(match, name, part, f"{link}/{name}")
    return Page(_CODE.sub(lambda match: places[match.start()], page), files)


def _digest(listings: Sequence[re.Match[str]]) -> str:
    text = "\0".join(match[0] for match in listings)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _script(name: str, listings: Sequence[re.Match[str]]) -> str:
    parts = [[html.unescape(match["code"]), match["noise"]] for match in listings]
    data = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return f"tclabCode({json.dumps(name)}, {data});\n"


def _text(match: re.Match[str]) -> str:
    """A listing for reading: each line behind the line that it came from."""
    origins = match["origins"].split("\n")
    lines = html.unescape(match["code"]).removesuffix("\n").split("\n")
    wide = max(map(len, origins))
    numbered = (f"{o:>{wide}}  {line}" for o, line in zip(origins, lines, strict=False))
    title = html.unescape(match["title"])
    head = "(the line of the kernel, or of the stage named, that it came from; then the code)"
    return "\n".join([title, head, "", *numbered, ""])


def _placeholder(match: re.Match[str], name: str, part: int, address: str) -> str:
    link = f'<a href="{esc(address)}.txt">{match["title"]}</a>'
    return (
        f'<div class="tclab-away" data-code="{esc(name)}" data-part="{part}" '
        f'data-src="{esc(address)}.js" style="{match["sizes"]}">'
        f"<p>In a file of its own: {link}</p></div>"
    )
