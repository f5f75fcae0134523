"""Chains: every stage of one graph in panes side by side, each line linked to its origin.

Without the script (assets/chain.js) the panes stand one under the other, folded, and each
line names what it came from. Longer chains leave machine code unmarked, to stay light; there
the origins stand in a column of their own, and the script makes the lines.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from tclab.model import Kernel
from tclab.render import columns, highlight, parts
from tclab.render.closure import Index
from tclab.render.escape import clean, esc, one_line, tag
from tclab.render.kinds import kernel
from tclab.render.stages import MACHINE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tclab.model import Chain, Listing
    from tclab.render.options import Options

#: How each stage is called above its panes.
LABELS = {
    "python": "Python", "bytecode": "Bytecode", "dynamo": "Dynamo graph", "joint": "Joint graph",
    "forward": "Forward graph", "backward": "Backward graph", "pre_grad": "Pre-grad graph",
    "post_grad": "Post-grad graph", "ir_pre_fusion": "IR before fusion", "ir": "Inductor IR",
    "wrapper": "Library call", "kernel": "Triton kernel", "cpp": "C++ kernel", "asm": "Assembly",
    "ttir": "TTIR",
    "ttgir": "TTGIR", "llir": "LLVM IR", "ptx": "PTX", "sass": "SASS",
}  # fmt: skip

#: Chains of more lines leave machine code without markup: a report stays below 3 MB.
MARKED_LINES = 5000

#: A line names at most this many origins; in a longer chain one.
ORIGINS = 3

#: Operators and punctuation stay without colour: half of all the markup, for little.
_PLAIN = frozenset({"o", "p"})


@dataclass(frozen=True)
class Panes:
    """A chain with what its panes need of each other: names, ids, origins."""

    chain: Chain
    options: Options

    @cached_property
    def index(self) -> Index:
        return Index.of(self.chain)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """`kernel`, `kernel 2`, …: the stage, and which of its panes."""
        seen: Counter[str] = Counter()
        names = []
        for pane in self.chain.panes:
            seen[pane.stage] += 1
            many = seen[pane.stage] > 1
            names.append(f"{pane.stage} {seen[pane.stage]}" if many else pane.stage)
        return tuple(names)

    @property
    def marked(self) -> bool:
        """Whether every line has markup of its own."""
        return not self.options.light and sum(self.index.counts) <= MARKED_LINES

    def place(self, line: int) -> tuple[int, int]:
        """Pane, and the line's number as it is shown."""
        pane = self.index.pane(line)
        return pane, line - self.index.starts[pane] + self.chain.panes[pane].first_line

    def id(self, pane: int, line: int | None = None) -> str:
        """The anchor of a pane or of a line in it: ``{prefix}-{stage}-L12``."""
        end = () if line is None else (f"L{line}",)
        return self.options.id(self.names[pane], *end)

    def origins(self, line: int) -> list[tuple[int, int]]:
        """Where `line` came from: (pane, line as shown), those in readable code first."""
        own = self.index.pane(line)
        above = [p for p in map(self.place, self.index.step([line], 1)) if p[0] != own]
        return sorted(above, key=lambda p: (not _readable(self, p), p))


def _readable(panes: Panes, place: tuple[int, int]) -> bool:
    """Whether a line is in code that people write or read, not a compiler's own."""
    return panes.chain.panes[place[0]].stage in ("python", "kernel", "cpp")


# --------------------------------------------------------------------------- lines


def _origin_links(panes: Panes, line: int) -> str:
    """Links to the lines that a line came from."""
    found = panes.origins(line)
    most = ORIGINS if panes.marked else 1
    links = " ".join(
        f"<a href=#{panes.id(pane, number)}>{esc(panes.names[pane])}:{number}</a>"
        for pane, number in found[:most]
    )
    return links + (" …" if len(found) > most else "")


_ADDRESS = re.compile(r"^[ \t]+(/\*[0-9a-f]+\*/)( +)", re.MULTILINE)
_CACHE = re.compile(r'(?<=//## File ")<inductor-cache>/[^/"]*/')


def _shown(listing: Listing) -> str:
    """The code; SASS without the empty columns that nvdisasm prints around addresses."""
    code = clean(listing.code)
    if listing.stage != "sass":
        return code
    gap = min((len(m[2]) for m in _ADDRESS.finditer(code)), default=1) - 1
    return _CACHE.sub("", _ADDRESS.sub(lambda m: m[1] + m[2][gap:], code))


def _marked(panes: Panes, pane: int) -> str:
    """Lines with a number, an anchor and their origins."""
    listing = panes.chain.panes[pane]
    language = listing.stage if listing.stage in MACHINE else listing.language
    out = []
    for offset, html in enumerate(highlight.lines(_shown(listing), language, _PLAIN)):
        number = offset + listing.first_line
        origin = _origin_links(panes, panes.index.starts[pane] + offset)
        origin = f"<em>{origin}</em>" if origin else ""
        ident = panes.id(pane, number)
        out.append(f"<span id={ident} data-line={number}>{html}{origin}\n</span>")
    return "".join(out)


def _unmarked(panes: Panes, pane: int) -> tuple[str, str]:
    """Origins, a line each, and the bare text; the page's script makes lines of it."""
    start, count = panes.index.starts[pane], panes.index.counts[pane]
    margin = []
    for line in range(start, start + count):
        found = [p for p in panes.origins(line) if _readable(panes, p)]
        margin.append(str(found[0][1]) if found else "")
    # HTML drops a newline right after <pre>: one more keeps an empty first line.
    return "\n" + "\n".join(margin), "\n" + _shown(panes.chain.panes[pane]).translate(_ENTITIES)


# Within an element: the fewest entities. The last two are Markdown's own marks.
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", "`": "&#96;", "~": "&#126;"})


def _code(panes: Panes, pane: int) -> str:
    listing = panes.chain.panes[pane]
    if not panes.index.counts[pane]:
        return parts.note("Empty.")
    if panes.marked or listing.stage not in MACHINE:
        body = _marked(panes, pane)
        return tag("pre", body, class_="highlight tclab-lines", aria_label=one_line(listing.title))
    margin, text = _unmarked(panes, pane)
    column = tag("pre", margin, class_="tclab-origins", title="Lines of the kernel")
    code = tag("pre", text, class_="tclab-lines tclab-bare", aria_label=one_line(listing.title))
    return tag("div", column + code, class_="tclab-two")


# --------------------------------------------------------------------------- panes


def _pane(panes: Panes, pane: int, ordinal: str) -> str:
    """One listing, folded; the Python source is open."""
    listing = panes.chain.panes[pane]
    name = LABELS.get(listing.stage, listing.stage or "Code") + ordinal
    size = parts.count(panes.index.counts[pane], "line")
    head = (
        tag("strong", esc(name))
        + tag("span", esc(one_line(listing.title)))
        + tag("small", esc(size))
    )
    facts = kernel.facts(listing, panes.options) if isinstance(listing, Kernel) else ""
    return tag(
        "details",
        tag("summary", head) + facts + _code(panes, pane),
        class_="tclab-pane",
        id=panes.id(pane),
        data_stage=listing.stage,
        data_first=listing.first_line if listing.first_line != 1 else None,
        open=listing.stage == "python",
    )


def _columns(panes: Panes) -> Iterator[tuple[str, str]]:
    """(stage, HTML) of each column: the panes of one stage."""
    numbered = enumerate(panes.chain.panes)
    for stage, group in groupby(numbered, key=lambda each: each[1].stage):
        members = [number for number, _ in group]
        ordinals = [f" {i}" if len(members) > 1 else "" for i in range(1, len(members) + 1)]
        inner = "".join(_pane(panes, m, o) for m, o in zip(members, ordinals, strict=True))
        label = LABELS.get(stage, stage or "Code")
        yield (
            stage,
            tag("section", inner, class_="tclab-column", data_column=stage, aria_label=label),
        )


def _chooser(stages: Sequence[str]) -> str:
    """Which columns to show; the script brings it to life."""
    boxes = "".join(
        f'<label><input type="checkbox" value="{esc(stage)}">'
        f"<strong>{esc(LABELS.get(stage, stage or 'Code'))}</strong><output></output></label>"
        for stage in stages
    )
    return tag("div", boxes, class_="tclab-chooser", role="group", aria_label="Stages", hidden=True)


HELP = (
    "Point at a line to see what it came from and what it became; click to keep it. "
    "Keys: ↑ ↓ lines, ← → stages, Enter keeps, Esc lets go."
)


def html(artifact: Chain, options: Options) -> str:
    """All panes, the chooser above them, and for the script which lines are joined."""
    if not artifact.panes:
        return parts.note("Nothing was compiled.")
    panes = Panes(artifact, options)
    shown = list(_columns(panes))
    inner = _chooser([stage for stage, _ in shown])
    inner += tag("p", esc(HELP), class_="tclab-help", hidden=True)
    inner += tag("div", "".join(body for _, body in shown), class_="tclab-columns")
    inner += tag("p", class_="tclab-said", role="status")
    # Numbers only: nothing in it could end the element.
    inner += f'<script type="application/json">{panes.index.json()}</script>'
    return tag("div", inner, class_="tclab-chain", data_search_exclude="")


# --------------------------------------------------------------------------- text


def _became(panes: Panes, line: int) -> str:
    """`forward 2, kernel 5`: how many lines of each stage a line became."""
    found: Counter[str] = Counter()
    for below in sorted(panes.index.descendants(line)):
        found[panes.chain.panes[panes.index.pane(below)].stage] += 1
    return ", ".join(f"{stage} {count}" for stage, count in found.items()) or "nothing"


def _trace(panes: Panes, pane: int, listing: Listing) -> Iterator[tuple[str, str, str]]:
    start = panes.index.starts[pane]
    for offset, code in enumerate(clean(listing.code).rstrip("\n").split("\n")):
        if code.strip():
            number = str(offset + listing.first_line)
            yield number, one_line(code), _became(panes, start + offset)


def text(artifact: Chain) -> str:
    """What each line of Python became, and how long each stage is; not the listings."""
    from tclab.render.options import Options

    panes = Panes(artifact, Options())
    tables = []
    for pane, listing in enumerate(artifact.panes):
        if listing.stage == "python":
            rows = list(_trace(panes, pane, listing))
            head = columns.heading(listing.title, listing.filename)
            tables.append(
                columns.join(head, columns.table(("line", "code", "became lines of"), rows))
            )
    sizes: Counter[str] = Counter()
    for pane, listing in enumerate(artifact.panes):
        sizes[LABELS.get(listing.stage, listing.stage)] += panes.index.counts[pane]
    stages = ", ".join(f"{name} {count:,}" for name, count in sizes.items()) or "none"
    said = columns.paragraph(f"Lines: {stages}.")
    return columns.join(columns.heading(artifact.title), *tables, said)
