"""Draw the lines of a pane as HTML.

Readable code has one element for each line, with its origins, and an anchor if a link leads to it.
Machine code is plain text beside a column with origins; the page's script splits it into lines.
Lines (``t-l``) are grouped in chunks (``t-c``), so that a browser lays out only the visible ones.
They are custom elements, so that CSS rules for lines need not be matched against their content.
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
from tclab.render.viewer.noise import find_noise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tclab.model import Listing
    from tclab.render.viewer.panes import Panes

#: Lines in a chunk, which are laid out together; the script has the same number.
CHUNK_LINES = 50

#: The most origins that a line names.
MOST_ORIGINS = 3

#: Operators and punctuation get no colour: they would be half of all markup.
_PLAIN_CLASSES = frozenset({"o", "p"})

#: The greatest and the smallest width that a column asks for, in characters.
_WIDEST, NARROWEST = 72, 30

_GRAPHS = frozenset({"dynamo", "joint", "forward", "backward", "pre_grad", "post_grad"})

#   add: "f32[2048, 768][768, 1]cuda:0" = torch.ops.aten.add.Tensor(…)
_ANNOTATION = re.compile(r'("[A-Za-z]\w*\[[^]"\n]*\])([^"\n]+)(?=")')

_MARKED_ANNOTATION = re.compile(r"(&quot;[A-Za-z]\w*\[[^]<&]*\])([^<&]+)(?=&quot;)")

_ADDRESS = re.compile(r"^[ \t]+(/\*[0-9a-f]+\*/)( +)", re.MULTILINE)
_NOISE = markup(" class=tclab-noise")
_CACHE = re.compile(r'(?<=//## File ")<inductor-cache>/[^/"]*/')

# The only characters that must be escaped in an element's content; Markdown would interpret the
# last two.
_ENTITIES = {"&": "&amp;", "<": "&lt;", "`": "&#96;", "~": "&#126;"}


def visible_code(listing: Listing) -> str:
    """Return the code of a listing; SASS without the blanks that nvdisasm prints around
    addresses.
    """
    code = clean(listing.code)
    if listing.stage != "sass":
        return code
    blanks = min((len(match[2]) for match in _ADDRESS.finditer(code)), default=1) - 1
    return _CACHE.sub("", _ADDRESS.sub(lambda match: match[1] + match[2][blanks:], code))


def draw_codes(panes: Panes, stage: str, members: Sequence[int]) -> list[Html]:
    """Draw the code of each pane of a stage and pass it through the delivery of the options."""
    draw_pane = _draw_bare if panes.is_bare(stage) else _draw_marked
    drawn = {pane: draw_pane(panes, pane) for pane in members if panes.index.counts[pane]}
    delivery, prefix = panes.options.delivery, panes.options.prefix
    delivered = dict(zip(drawn, delivery.deliver_column(prefix, stage, list(drawn.values()))))
    return [delivered.get(pane) or parts.note("Empty.") for pane in members]


# ------------------------------------------------------------------------ readable code


def _draw_marked(panes: Panes, pane: int) -> MarkedCode:
    listing = panes.chain.panes[pane]
    text, start = visible_code(listing), panes.index.starts[pane]
    noise_lines = find_noise(listing.stage, text, listing.links)
    lines = []
    for offset, html in enumerate(highlight.lines(text, listing.language, _PLAIN_CLASSES)):
        number = offset + listing.first_line
        ident = NOTHING
        if start + offset in panes.linked_lines:
            ident = markup(" id={}", panes.id(pane, number))
        noise_class = _NOISE if offset in noise_lines else NOTHING
        html = _fold_types(html) if listing.stage in _GRAPHS else html  # noqa: PLW2901
        origins = _draw_origins(panes, start + offset)
        lines.append(markup("<t-l{}{}>{}{}\n</t-l>", ident, noise_class, html, origins))
    inner, style = (
        join(_group_into_chunks(lines, noise_lines, listing.first_line)),
        f"--cols:{_widest_line(text)}",
    )
    label = one_line(listing.title)
    html = tag("pre", inner, class_="highlight tclab-lines", aria_label=label, style=style)
    return MarkedCode(html, style, inner)


def _group_into_chunks(
    lines: Sequence[Html], noise_lines: frozenset[int], first_line: int
) -> Iterable[Html]:
    """Yield the HTML of each chunk. Its style sets `--n` to the number of the line before the
    chunk, `--a` to the count of its lines, and `--h` to the count of its visible lines.
    """
    for start in range(0, len(lines), CHUNK_LINES):
        chunk = lines[start : start + CHUNK_LINES]
        hidden = len(noise_lines.intersection(range(start, start + CHUNK_LINES)))
        lines_before, visible = start + first_line - 1, len(chunk) - hidden
        sizes = lines_before, len(chunk), visible
        yield markup("<t-c style=--n:{};--a:{};--h:{}>{}</t-c>", *sizes, join(chunk))


def _fold_types(html: Html) -> Html:
    """Mark the part of a type annotation after the sizes, which the page hides until the reader
    hovers.
    """
    return Html(_MARKED_ANNOTATION.sub(r"\1<i class=tclab-type>\2</i>", html))


def _draw_origins(panes: Panes, line: int) -> Html:
    """Draw links to the origins of a line."""
    places = panes.origins(line, MOST_ORIGINS + 1)
    if not places:
        return NOTHING
    links = [
        markup(
            "<a href=#{}>{}:{}</a>", _line_id(panes, pane, number), esc(panes.names[pane]), number
        )
        for pane, number in places[:MOST_ORIGINS]
    ]
    ellipsis = markup(" …") if len(places) > MOST_ORIGINS else NOTHING
    return markup("<em>{}{}</em>", join(links, SPACE), ellipsis)


def _line_id(panes: Panes, pane: int, line: int) -> Html:
    """Return the id of a line; in bare text, whose lines have no ids, return the id of the pane."""
    bare = panes.is_bare(panes.chain.panes[pane].stage)
    return panes.id(pane) if bare else panes.id(pane, line)


# ------------------------------------------------------------------------- machine code


def _draw_bare(panes: Panes, pane: int) -> BareCode:
    """Draw bare text beside its origins. The positions of noise lines are stored as distances."""
    listing = panes.chain.panes[pane]
    text = visible_code(listing)
    noise_lines = [0, *sorted(find_noise(listing.stage, text, listing.links))]
    distances = " ".join(str(current - previous) for previous, current in pairwise(noise_lines))
    origins = [] if panes.options.plain else list(_origin_texts(panes, pane))
    # HTML drops a newline right after <pre>, so add one to keep an empty first line.
    origins_html = tag(
        "pre",
        NEWLINE,
        esc("\n".join(origins)),
        class_="tclab-origins",
        title="Where lines came from",
    )
    lines = tag(
        "pre",
        NEWLINE,
        _escape_content(text),
        class_="tclab-lines tclab-bare",
        data_noise=distances,
        aria_label=one_line(listing.title),
    )
    style = (
        f"--cols:{_widest_line(text)};--h:{len(_text_lengths(text, frozenset(noise_lines[1:])))}"
    )
    attributes = {"data_chain": panes.options.prefix, "data_stage": listing.stage, "style": style}
    html = tag("div", origins_html, lines, class_="tclab-two", **attributes)
    return BareCode(html, style, listing.title, text, origins, distances)


def _escape_content(text: str) -> Html:
    """Escape clean text for an element. The text is long, for which `str.translate` is slow."""
    for character, entity in _ENTITIES.items():
        text = text.replace(character, entity)
    return Html(text)


def _origin_texts(panes: Panes, pane: int) -> Iterable[str]:
    """Yield the first origin of each line as text: its line number, after the stage if that is not
    readable code; '' without an origin.
    """
    start = panes.index.starts[pane]
    for line in range(start, start + panes.index.counts[pane]):
        for origin, number in panes.origins(line, 1):
            yield str(number) if panes.is_readable(origin) else f"{panes.names[origin]}:{number}"
            break
        else:
            yield ""


# ------------------------------------------------------------------------------- sizes


def _text_lengths(text: str, noise_lines: frozenset[int] = frozenset()) -> list[int]:
    lines = enumerate(text.removesuffix("\n").expandtabs(4).split("\n"))
    return [len(line) for number, line in lines if number not in noise_lines]


def _widest_line(text: str) -> int:
    return max(_text_lengths(text))


def column_width(lengths: Sequence[Sequence[int]]) -> int:
    """Return the width of a column in characters, so that nine of ten lines fit. `lengths` has the
    length of each line of each of its panes.
    """
    all_lengths = sorted(length for own in lengths for length in own)
    typical = all_lengths[len(all_lengths) * 9 // 10] if all_lengths else 0
    return min(max(typical, NARROWEST), _WIDEST)


def line_lengths(listing: Listing) -> list[int]:
    """Return the number of characters of each line that is not hidden, with types shortened."""
    text = visible_code(listing)
    shortened = _ANNOTATION.sub(r"\1…", text) if listing.stage in _GRAPHS else text
    return _text_lengths(shortened, find_noise(listing.stage, text, listing.links))
