"""The columns of a chain, a stage each, and the controls above them."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from tclab.model import Kernel
from tclab.render import parts
from tclab.render.escape import NOTHING, Html, esc, join, markup, one_line, tag
from tclab.render.stages import label
from tclab.render.viewer import facts, lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tclab.model import Listing
    from tclab.render.viewer.panes import Panes

#: Lines that a column unfolds by itself; the script's own number is the same.
MOST_OPEN = 400

#: The order in which stages are chosen where there is no room for all.
_RANKS = ("python", "kernel", "cpp", "asm", "sass", "forward", "post_grad", "ptx", "dynamo")


def ranked(stages: Sequence[str]) -> dict[str, int]:
    """Stage → its rank, from 1: those that are chosen first, then the others in order."""
    first = [stage for stage in _RANKS if stage in stages]
    order = first + [stage for stage in stages if stage not in first]
    return {stage: rank for rank, stage in enumerate(order, 1)}


def columns(panes: Panes) -> Html:
    """Every column, side by side."""
    numbered = enumerate(panes.chain.panes)
    groups = [
        (stage, [number for number, _ in group])
        for stage, group in groupby(numbered, key=lambda each: each[1].stage)
    ]
    ranks = ranked([stage for stage, _ in groups])
    listings = {stage: [panes.chain.panes[number] for number in own] for stage, own in groups}
    widths = {stage: _weight(stage, of) for stage, of in listings.items()}
    drawn = (
        _column(panes, stage, own, rank=ranks[stage], width=widths[stage]) for stage, own in groups
    )
    return tag("div", *drawn, class_="tclab-columns", style=_tracks(ranks, widths))


def _tracks(ranks: Mapping[str, int], widths: Mapping[str, int]) -> str:
    """Where columns stand if 2, 3 or 4 are shown: known before the last of them is read."""

    def tracks(most: int) -> str:
        chosen = [stage for stage in widths if ranks[stage] <= most]
        return " ".join(f"minmax({_least(stage)},{widths[stage]}fr)" for stage in chosen)

    return ";".join(f"--t{most}:{tracks(most)}" for most in (2, 3, 4))


def _weight(stage: str, of: Sequence[Listing]) -> int:
    """Python has what its longest line needs (`need`), and no more of the rest than others."""
    return lines.NARROWEST if stage == "python" else lines.width(of)


def _least(stage: str) -> str:
    return "var(--python)" if stage == "python" else "0"


def need(panes: Panes) -> int:
    """The characters of the longest line of Python."""
    python = (pane for pane in panes.chain.panes if pane.stage == "python")
    return max((length for pane in python for length in lines.lengths(pane)), default=0)


def rows(panes: Panes) -> int:
    """The lines of the longest column, with those that its headings take."""
    by_stage = groupby(panes.chain.panes, key=lambda pane: pane.stage)
    groups = [list(group) for _, group in by_stage]
    return max(sum(lines.height(pane) + 4 for pane in group) for group in groups)


def _column(panes: Panes, stage: str, members: Sequence[int], *, rank: int, width: int) -> Html:
    ordinals = [f" {i}" if len(members) > 1 else "" for i in range(1, len(members) + 1)]
    opened = unfolded([panes.index.counts[m] for m in members])
    codes = lines.codes(panes, stage, members)
    drawn = map(partial(_pane, panes), members, codes, ordinals, opened)
    name = label(stage)
    grip = tag(
        "div",
        class_="tclab-grip",
        role="separator",
        tabindex="0",
        aria_orientation="vertical",
        aria_valuenow="50",
        aria_label=f"Width of {name}",
    )
    return tag(
        "section",
        _bar(name),
        tag("div", *drawn, class_="tclab-scroller"),
        tag("div", class_="tclab-ruler", aria_hidden="true"),
        grip,
        class_="tclab-column" + (" tclab-single" if len(members) == 1 else ""),
        data_column=stage,
        data_rank=rank,
        aria_label=name,
        style=f"--w:{width}",
    )


def unfolded(counts: Sequence[int]) -> list[bool]:
    """Which panes of a column are open at first: the first, and those that still have room."""
    room, opened = MOST_OPEN, []
    for count in counts:
        fits = room == MOST_OPEN or count <= room
        room -= count if fits else 0
        opened.append(fits)
    return opened


def _bar(name: str) -> Html:
    """A column's name, the way from one linked line to the next, and find."""
    search = markup(
        '<span class="tclab-find" hidden><input type="search" aria-label="Find in {}" '
        'autocomplete="off" spellcheck="false"><output></output></span>',
        esc(name),
    )
    return tag(
        "div",
        tag("strong", esc(name)),
        tag("output", class_="tclab-at"),
        _button("previous", "", f"Previous linked line in {name} (p)", disabled=True),
        _button("next", "", f"Next linked line in {name} (n)", disabled=True),
        _button("take", "", f"Copy all of {name}", class_="tclab-copier"),
        search,
        _button("find", "", f"Find in {name} (/)", aria_expanded="false"),
        class_="tclab-head",
        role="toolbar",
        aria_label=name,
    )


def _button(action: str, text: str, title: str, **more: object) -> Html:
    label = None if text else title
    return tag(
        "button", esc(text), type="button", data_do=action, title=title, aria_label=label, **more
    )


def _pane(panes: Panes, pane: int, code: Html, ordinal: str, opened: bool) -> Html:
    """One listing, folded; the Python source is open.

    The script unfolds a pane that is `opened`; a style sheet shows its lines before that.
    """
    listing = panes.chain.panes[pane]
    size = parts.count(panes.index.counts[pane], "line")
    head = tag(
        "summary",
        tag("strong", esc(label(listing.stage) + ordinal)),
        tag("span", esc(one_line(listing.title))),
        tag("small", esc(size)),
    )
    above = facts.html(listing, panes.options) if isinstance(listing, Kernel) else NOTHING
    return tag(
        "details",
        head,
        above,
        code,
        class_="tclab-pane",
        id=panes.id(pane),
        data_stage=listing.stage,
        data_first=listing.first_line if listing.first_line != 1 else None,
        data_opened=opened,
        open=listing.stage == "python",
    )


def tools(panes: Panes) -> Html:
    """Which columns to show, and the switches; the script brings them to life."""
    stages = list(dict.fromkeys(pane.stage for pane in panes.chain.panes))
    boxes = (
        markup(
            '<label><input type="checkbox" value="{}"><strong>{}</strong><output></output></label>',
            esc(stage),
            esc(label(stage)),
        )
        for stage in stages
    )
    chooser = tag("div", *boxes, class_="tclab-chooser", role="group", aria_label="Stages")
    everything = "Show imports, decorators, index arithmetic, directives and whole types, too"
    switches = tag(
        "div",
        _button("all", "All lines", everything, aria_pressed="false"),
        _button("wrap", "Wrap", "Break long lines", aria_pressed="false"),
        class_="tclab-switches",
        role="group",
        aria_label="Lines",
    )
    skip = tag("a", esc("Skip to the code"), class_="tclab-skip", href=f"#{panes.id(0)}")
    bar = tag("div", chooser, switches, class_="tclab-tools", role="toolbar", aria_label="Viewer")
    return join([skip, bar])
