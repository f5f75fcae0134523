"""Draw the columns of a chain, one for each stage, and the controls above them."""

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

    from tclab.render.viewer.panes import Panes

#: The most lines that a column shows unfolded at first; the page's script has the same number.
MOST_OPEN_LINES = 400

#: The stages to show if there is no room for all, the most important ones first.
_STAGE_ORDER = (
    "python",
    "kernel",
    "cpp",
    "asm",
    "sass",
    "amdgcn",
    "forward",
    "post_grad",
    "ptx",
    "dynamo",
)


def rank_stages(stages: Sequence[str]) -> dict[str, int]:
    """Map each stage to its rank, from 1. The stages of _STAGE_ORDER come first, then the others in
    order.
    """
    preferred = [stage for stage in _STAGE_ORDER if stage in stages]
    order = preferred + [stage for stage in stages if stage not in preferred]
    return {stage: rank for rank, stage in enumerate(order, 1)}


def draw_columns(panes: Panes, lengths: Sequence[Sequence[int]]) -> Html:
    """Draw all columns side by side. `lengths` are the characters of the visible lines of each
    pane.
    """
    numbered = enumerate(panes.chain.panes)
    groups = [
        (stage, [number for number, _ in group])
        for stage, group in groupby(numbered, key=lambda numbered_pane: numbered_pane[1].stage)
    ]
    ranks = rank_stages([stage for stage, _ in groups])
    widths = {
        stage: _column_weight(stage, [lengths[number] for number in members])
        for stage, members in groups
    }
    columns = (
        _draw_column(panes, stage, members, rank=ranks[stage], width=widths[stage])
        for stage, members in groups
    )
    return tag("div", *columns, class_="tclab-columns", style=_grid_tracks(ranks, widths))


def _grid_tracks(ranks: Mapping[str, int], widths: Mapping[str, int]) -> str:
    """Return the grid tracks for 2, 3 and 4 columns as a style, so that the browser can lay out the
    first columns before it has read the last.
    """

    def track_list(most: int) -> str:
        chosen = [stage for stage in widths if ranks[stage] <= most]
        return " ".join(f"minmax({_least_width(stage)},{widths[stage]}fr)" for stage in chosen)

    return ";".join(f"--t{most}:{track_list(most)}" for most in (2, 3, 4))


def _column_weight(stage: str, lengths: Sequence[Sequence[int]]) -> int:
    """Return the share of a column in the free width. The Python column has a width of its own, so
    its share is small.
    """
    return lines.NARROWEST if stage == "python" else lines.column_width(lengths)


def _least_width(stage: str) -> str:
    return "var(--python)" if stage == "python" else "0"


def longest_python_line(panes: Panes, lengths: Sequence[Sequence[int]]) -> int:
    """Return the characters of the longest line of Python."""
    both = zip(panes.chain.panes, lengths, strict=True)
    python_lengths = (own for pane, own in both if pane.stage == "python")
    return max((length for own in python_lengths for length in own), default=0)


def tallest_column(panes: Panes, lengths: Sequence[Sequence[int]]) -> int:
    """Return the height of the tallest column in lines, headings included."""
    both = zip(panes.chain.panes, lengths, strict=True)
    by_stage = groupby(both, key=lambda pair: pair[0].stage)
    return max(sum(len(own) + 4 for _, own in group) for _, group in by_stage)


def _draw_column(
    panes: Panes, stage: str, members: Sequence[int], *, rank: int, width: int
) -> Html:
    ordinals = [f" {ordinal}" if len(members) > 1 else "" for ordinal in range(1, len(members) + 1)]
    open_flags = choose_open([panes.index.counts[member] for member in members])
    codes = lines.draw_codes(panes, stage, members)
    panes_html = map(partial(_draw_pane, panes), members, codes, ordinals, open_flags)
    name = label(stage)
    divider = tag(
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
        _draw_bar(name),
        tag("div", *panes_html, class_="tclab-scroller"),
        tag("div", class_="tclab-ruler", aria_hidden="true"),
        divider,
        class_="tclab-column" + (" tclab-single" if len(members) == 1 else ""),
        data_column=stage,
        data_rank=rank,
        aria_label=name,
        style=f"--w:{width}",
    )


def choose_open(counts: Sequence[int]) -> list[bool]:
    """Return for each pane of a column whether it is open at first. The first pane is open, and so
    are the next ones while they fit into MOST_OPEN_LINES.
    """
    lines_left, open_flags = MOST_OPEN_LINES, []
    for count in counts:
        fits = lines_left == MOST_OPEN_LINES or count <= lines_left
        lines_left -= count if fits else 0
        open_flags.append(fits)
    return open_flags


def _draw_bar(name: str) -> Html:
    """Draw the bar of a column: its name, buttons for the previous and next linked line,
    and find.
    """
    search = markup(
        '<span class="tclab-find" hidden><input type="search" aria-label="Find in {}" '
        'autocomplete="off" spellcheck="false"><output></output></span>',
        esc(name),
    )
    return tag(
        "div",
        tag("strong", esc(name)),
        tag("output", class_="tclab-at"),
        _draw_button("previous", "", f"Previous linked line in {name} (p)", disabled=True),
        _draw_button("next", "", f"Next linked line in {name} (n)", disabled=True),
        _draw_button("take", "", f"Copy all of {name}", class_="tclab-copier"),
        search,
        _draw_button("find", "", f"Find in {name} (/)", aria_expanded="false"),
        class_="tclab-head",
        role="toolbar",
        aria_label=name,
    )


def _draw_button(action: str, text: str, title: str, **attributes: object) -> Html:
    label = None if text else title
    return tag(
        "button",
        esc(text),
        type="button",
        data_do=action,
        title=title,
        aria_label=label,
        **attributes,
    )


def _draw_pane(panes: Panes, pane: int, code: Html, ordinal: str, is_open: bool) -> Html:
    """Draw one listing as a fold; the Python source is open.

    If `is_open`, the script unfolds the pane; until then the style sheet shows its lines.
    """
    listing = panes.chain.panes[pane]
    size = parts.count(panes.index.counts[pane], "line")
    summary = tag(
        "summary",
        tag("strong", esc(label(listing.stage) + ordinal)),
        tag("span", esc(one_line(listing.title))),
        tag("small", esc(size)),
    )
    facts_html = facts.html(listing, panes.options) if isinstance(listing, Kernel) else NOTHING
    return tag(
        "details",
        summary,
        facts_html,
        code,
        class_="tclab-pane",
        id=panes.id(pane),
        data_stage=listing.stage,
        data_first=listing.first_line if listing.first_line != 1 else None,
        data_opened=is_open,
        open=listing.stage == "python",
    )


def draw_tools(panes: Panes) -> Html:
    """Draw the choice of columns, and the switches. Both work only with the script."""
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
    all_lines_title = "Show imports, decorators, index arithmetic, directives and whole types, too"
    switches = tag(
        "div",
        _draw_button("all", "All lines", all_lines_title, aria_pressed="false"),
        _draw_button("wrap", "Wrap", "Break long lines", aria_pressed="false"),
        class_="tclab-switches",
        role="group",
        aria_label="Lines",
    )
    skip_link = tag("a", esc("Skip to the code"), class_="tclab-skip", href=f"#{panes.id(0)}")
    bar = tag("div", chooser, switches, class_="tclab-tools", role="toolbar", aria_label="Viewer")
    return join([skip_link, bar])
