"""What is folded in a large page compressed within it: a report is read long before its SASS is.

The code of a stage, and each table of guards, becomes an element that holds gzip in base64, which
the viewer unpacks when it is opened. The Python source stays as it is: it stands open.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections import defaultdict

from tclab.render.escape import esc

#: <div class="tclab-chain" data-search-exclude="" style="--rows:99">
#: <details class="tclab-pane" id="report-chain0-post_grad-2" data-stage="post_grad" …>
#: <div class="tclab-two" data-chain="c" data-stage="sass" style="--cols:80;--h:300"><pre …>origins
#:   </pre><pre … data-noise="0 1 2" aria-label="SASS of k">code</pre></div>
#: <pre class="highlight tclab-lines" aria-label="Forward graph" style="--cols:99"><t-c …>…</pre>
#: <div class="tclab-scroll" tabindex="0" role="group" aria-label="Guards of f" …><table>…</table>
_PARTS = re.compile(
    r'<div class="(?P<chain>tclab-chain)"'
    r'|<details class="tclab-pane" id="[^"]*" data-stage="(?P<stage>[^"]*)"'
    r'|<div class="tclab-two" [^>]*style="(?P<sizes>[^"]*)"><pre [^>]*>\n[^<]*</pre>'
    r'<pre [^>]*data-noise="(?P<noise>[^"]*)"[^>]*>\n(?P<bare>[^<]*)</pre></div>'
    r'|<pre class="highlight tclab-lines" [^>]*style="(?P<width>[^"]*)">(?P<marked>.*?)</pre>'
    r'|<div class="tclab-scroll" [^>]*aria-label="Guards [^>]*>(?P<table><table.*?</table>)',
    re.DOTALL,
)

_SAID = (
    "Compressed in this file, for the page's script. "
    "<code>tclab explain --format json</code> writes it as plain text."
)


def packed(page: str) -> str:
    """`page` (HTML) with the code of its stages, and its guards, compressed at its end."""
    packing = _Packing()
    shown = _PARTS.sub(packing.replaced, page)
    return shown + "".join(_held(name, parts) for name, parts in packing.stages.items())


class _Packing:
    """What was taken out of a page so far: the name of a stage → the code of its panes."""

    def __init__(self) -> None:
        self.stages: dict[str, list[object]] = defaultdict(list)
        self.chain, self.stage = 0, ""

    def replaced(self, part: re.Match[str]) -> str:
        """What stands in the page for a part of it."""
        if part["chain"]:
            self.chain += 1
        elif part["stage"]:
            self.stage = part["stage"]
        elif part["table"]:
            return self._folded(part)
        elif self.stage != "python":
            return self._away(part)
        return part[0]

    def _folded(self, part: re.Match[str]) -> str:
        """A table in a fold; its surroundings stay."""
        name = f"packed-table{len(self.stages)}"
        self.stages[name].append(part["table"])
        around = part[0].removesuffix(part["table"])
        return f'{around}<p class="tclab-packed" data-packed="{name}">{_SAID}</p>'

    def _away(self, part: re.Match[str]) -> str:
        name = f"packed{self.chain}-{self.stage}"
        parts = self.stages[name]
        marked = part["marked"] is not None
        parts.append(part["marked"] if marked else [html.unescape(part["bare"]), part["noise"]])
        return (
            f'<div class="tclab-away" data-code="{esc(name)}" data-part="{len(parts) - 1}" '
            f'data-src="#"{" data-marked" * marked} style="{part["width"] or part["sizes"]}">'
            f"<p>{_SAID}</p></div>"
        )


def _held(name: str, parts: list[object]) -> str:
    data = json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()
    text = base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()
    return f'<script type="application/gzip" id="{esc(name)}">{text}</script>'
