"""The lines of a pane as HTML.

Readable code has an element a line, with an anchor where something leads to it, and its origins.
Machine code is bare text beside a column of its lines' origins; the page's script makes lines of
it. Lines (``t-l``) stand in chunks (``t-c``), so that a browser lays out only those in view; they
have names of their own, so that what changes for lines is not looked for in all that is in them.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from tclab.render import highlight, parts
from tclab.render.delivery import BareCode, MarkedCode
from tclab.render.escape import (
    NEWLINE,
    NOTHING,
    SPACE,
    Html,
    clean,
    esc,
    join,
    markup,
    one_line,
    tag,
)
from tclab.render.viewer.noise import noise
from tclab.render.viewer.panes import BARE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tclab.model import Listing
    from tclab.render.viewer.panes import Panes

#: Lines that are laid out together; the script's own number is the same.
CHUNK = 50

#: A line names at most this many origins.
ORIGINS = 3

#: Operators and punctuation stay without colour: half of all the markup, for little.
_PLAIN = frozenset({"o", "p"})

#: Lines this wide or wider take no more of the window than this.
_WIDEST, NARROWEST = 72, 30

_GRAPHS = frozenset({"dynamo", "joint", "forward", "backward", "pre_grad", "post_grad"})

#   add: "f32[2048, 768][768, 1]cuda:0" = torch.ops.aten.add.Tensor(…)
_ANNOTATION = re.compile(r'("[A-Za-z]\w*\[[^]"\n]*\])([^"\n]+)(?=")')

_MARKED_ANNOTATION = re.compile(r"(&quot;[A-Za-z]\w*\[[^]<&]*\])([^<&]+)(?=&quot;)")

_ADDRESS = re.compile(r"^[ \t]+(/\*[0-9a-f]+\*/)( +)", re.MULTILINE)
_NOISE = markup(" class=tclab-noise")
_CACHE = re.compile(r'(?<=//## File ")<inductor-cache>/[^/"]*/')

# Within an element: the fewest entities. The last two are Markdown's own marks.
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", "`": "&#96;", "~": "&#126;"})


def shown(listing: Listing) -> str:
    """The code; SASS without the empty columns that nvdisasm prints around addresses."""
    code = clean(listing.code)
    if listing.stage != "sass":
        return code
    gap = min((len(m[2]) for m in _ADDRESS.finditer(code)), default=1) - 1
    return _CACHE.sub("", _ADDRESS.sub(lambda m: m[1] + m[2][gap:], code))


def codes(panes: Panes, stage: str, members: Sequence[int]) -> list[Html]:
    """The code of each pane of a stage, as the options have it delivered."""
    draw = _bare if stage in BARE else _marked
    drawn = {pane: draw(panes, pane) for pane in members if panes.index.counts[pane]}
    delivery, prefix = panes.options.delivery, panes.options.prefix
    delivered = dict(zip(drawn, delivery.column(prefix, stage, list(drawn.values()))))
    return [delivered.get(pane) or parts.note("Empty.") for pane in members]


# ------------------------------------------------------------------------ readable code


def _marked(panes: Panes, pane: int) -> MarkedCode:
    listing = panes.chain.panes[pane]
    text, start = shown(listing), panes.index.starts[pane]
    quiet = noise(listing.stage, text, listing.links)
    lines = []
    for offset, html in enumerate(highlight.lines(text, listing.language, _PLAIN)):
        number = offset + listing.first_line
        ident = NOTHING
        if start + offset in panes.led_to:
            ident = markup(" id={}", panes.id(pane, number))
        kind = _NOISE if offset in quiet else NOTHING
        html = _shortened(html) if listing.stage in _GRAPHS else html  # noqa: PLW2901
        origins = _origins(panes, start + offset)
        lines.append(markup("<t-l{}{}>{}{}\n</t-l>", ident, kind, html, origins))
    inner, style = join(_chunks(lines, quiet, listing.first_line)), f"--cols:{_widest(text)}"
    label = one_line(listing.title)
    html = tag("pre", inner, class_="highlight tclab-lines", aria_label=label, style=style)
    return MarkedCode(html, style, inner)


def _chunks(lines: Sequence[Html], quiet: frozenset[int], first: int) -> Iterable[Html]:
    """`--n` counts the lines before a chunk, `--a` its own, `--h` those not hidden."""
    for start in range(0, len(lines), CHUNK):
        some = lines[start : start + CHUNK]
        hidden = len(quiet.intersection(range(start, start + CHUNK)))
        before, seen = start + first - 1, len(some) - hidden
        sizes = before, len(some), seen
        yield markup("<t-c style=--n:{};--a:{};--h:{}>{}</t-c>", *sizes, join(some))


def _shortened(html: Html) -> Html:
    """Annotations of type: what stands after the sizes can be folded, and is told on hover."""
    return Html(_MARKED_ANNOTATION.sub(r"\1<i class=tclab-type>\2</i>", html))


def _origins(panes: Panes, line: int) -> Html:
    """Links to the lines that a line came from."""
    places = panes.origins(line, ORIGINS + 1)
    if not places:
        return NOTHING
    links = [
        markup(
            "<a href=#{}>{}:{}</a>", _address(panes, pane, number), esc(panes.names[pane]), number
        )
        for pane, number in places[:ORIGINS]
    ]
    more = markup(" …") if len(places) > ORIGINS else NOTHING
    return markup("<em>{}{}</em>", join(links, SPACE), more)


def _address(panes: Panes, pane: int, line: int) -> Html:
    """The line's id; of bare text, whose lines are the script's, its pane's."""
    bare = panes.chain.panes[pane].stage in BARE
    return panes.id(pane) if bare else panes.id(pane, line)


# ------------------------------------------------------------------------- machine code


def _bare(panes: Panes, pane: int) -> BareCode:
    """Origins, a line each, and the bare text, with where its noise is (as distances)."""
    listing = panes.chain.panes[pane]
    text = shown(listing)
    quiet = [0, *sorted(noise(listing.stage, text, listing.links))]
    distances = " ".join(str(b - a) for a, b in pairwise(quiet))
    origins = list(_margin(panes, pane))
    # HTML drops a newline right after <pre>: one more keeps an empty first line.
    margin = tag(
        "pre",
        NEWLINE,
        esc("\n".join(origins)),
        class_="tclab-origins",
        title="Where lines came from",
    )
    lines = tag(
        "pre",
        NEWLINE,
        Html(text.translate(_ENTITIES)),
        class_="tclab-lines tclab-bare",
        data_noise=distances,
        aria_label=one_line(listing.title),
    )
    style = f"--cols:{_widest(text)};--h:{len(_lengths(text, frozenset(quiet[1:])))}"
    place = {"data_chain": panes.options.prefix, "data_stage": listing.stage, "style": style}
    html = tag("div", margin, lines, class_="tclab-two", **place)
    return BareCode(html, style, listing.title, text, origins, distances)


def _margin(panes: Panes, pane: int) -> Iterable[str]:
    """For each line, where it came from: of readable code the line, else the stage, too."""
    start = panes.index.starts[pane]
    for line in range(start, start + panes.index.counts[pane]):
        for origin, number in panes.origins(line, 1):
            yield str(number) if panes.readable(origin) else f"{panes.names[origin]}:{number}"
            break
        else:
            yield ""


# ------------------------------------------------------------------------------- sizes


def _lengths(text: str, quiet: frozenset[int] = frozenset()) -> list[int]:
    lines = enumerate(text.removesuffix("\n").expandtabs(4).split("\n"))
    return [len(line) for number, line in lines if number not in quiet]


def _widest(text: str) -> int:
    return max(_lengths(text))


def width(listings: Sequence[Listing]) -> int:
    """How much of the window a column asks for: room for nine lines of ten."""
    every = sorted(length for listing in listings for length in lengths(listing))
    most = every[len(every) * 9 // 10] if every else 0
    return min(max(most, NARROWEST), _WIDEST)


def height(listing: Listing) -> int:
    """The lines of a listing that are not hidden."""
    return len(lengths(listing))


def lengths(listing: Listing) -> list[int]:
    """Characters of each line that is not hidden, with types shortened."""
    text = shown(listing)
    short = _ANNOTATION.sub(r"\1…", text) if listing.stage in _GRAPHS else text
    return _lengths(short, noise(listing.stage, text, listing.links))
