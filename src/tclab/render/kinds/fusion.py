"""Render fusion decisions: a card for each pair of nodes. Pairs without shared data are folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.model import NOTHING_SHARED
from tclab.render import columns, highlight, parts
from tclab.render.escape import COMMA, NOTHING, SPACE, Html, esc, join, markup, tag
from tclab.render.options import Options, place_link
from tclab.render.parts import byte_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tclab.model import FusionPair, FusionPairs, ScheduledNode

#: The number of cards that are shown; the others are folded.
MOST_CARDS = 24
#: The most source lines that a side of a pair names.
MOST_LINES = 3

_NO_REASON = "Inductor gives no reason."
_ALL_THE_SAME = "In the end they are in one group all the same, through other pairs."


def summary(pairs: FusionPairs) -> str:
    """Count nodes, groups and pairs, and the bytes that fusion saved, in two sentences."""
    fused = pairs.select_pairs("fused")
    saved = sum(pair.saved or 0 for pair in fused)
    group_count = parts.count(len(pairs.groups), "group")
    return (
        f"{parts.count(len(pairs.nodes), 'node')}, in the end {group_count}. "
        f"{parts.count(len(pairs.pairs), 'pair')} considered, {len(fused)} fused: "
        f"{byte_count(saved)} of memory traffic saved."
    )


def sort_pairs(
    pairs: FusionPairs,
) -> tuple[list[FusionPair], list[FusionPair], list[FusionPair]]:
    """Sort the pairs into three lists: informative pairs; pairs that share no data; and legal pairs
    that were not fused themselves, but are in one group through other pairs.
    """
    informative, disjoint, joined_later = [], [], []
    for pair in pairs.pairs:
        if pair.reason == NOTHING_SHARED:
            disjoint.append(pair)
        elif pair.verdict == "possible" and pairs.share_group(pair):
            joined_later.append(pair)
        else:
            informative.append(pair)
    return informative, disjoint, joined_later


def reason_text(pair: FusionPair, pairs: FusionPairs) -> str:
    """Return why the pair was not fused, in Inductor's words if it gives a reason; '' if fused."""
    if pair.verdict == "fused":
        return ""
    if pair.verdict == "possible":
        return "They could have been fused; another pair was taken."
    declined = f" `{pair.declined_by}` declined." if pair.declined_by else ""
    reason = f"“{pair.reason}”" if pair.reason else _NO_REASON + declined
    return f"{reason} {_ALL_THE_SAME}" if pairs.share_group(pair) else reason


def bytes_text(pair: FusionPair) -> str:
    """Say how many bytes fusion saved, or how many both sides share."""
    if pair.saved is not None:
        return (
            f"saves {byte_count(pair.saved)}: {byte_count(pair.before or 0)} alone, "
            f"{byte_count(pair.after or 0)} together"
        )
    return f"shares {byte_count(pair.bytes)}" if pair.shared else "shares nothing in the same order"


# ------------------------------------------------------------------------------ HTML


def _draw_side(ops: Iterable[str], pairs: FusionPairs, options: Options) -> Html:
    """Draw the nodes of one side with their operations, and the user's lines."""
    nodes_by_name = {node.name: node for node in pairs.nodes}
    nodes = [nodes_by_name[op] for op in ops if op in nodes_by_name]
    nodes_html = join(map(_draw_node, nodes), markup("; "))
    lines = dict.fromkeys(line for node in nodes for line in node.locations)
    places = (
        tag(
            "span",
            place_link(line, options),
            SPACE,
            highlight.inline(line.code),
            class_="tclab-where",
        )
        for line in list(lines)[:MOST_LINES]
    )
    return tag("div", nodes_html, *places, class_="tclab-side")


def _draw_node(node: ScheduledNode) -> Html:
    computed = join(map(parts.code, node.computes), COMMA) or parts.DASH
    return join([tag("span", esc(node.name), class_="tclab-op"), computed], SPACE)


def _draw_shared(pair: FusionPair, most_bytes: int) -> Html:
    """Draw a bar for the shared bytes, relative to `most_bytes`, and the shared buffers."""
    if not pair.shared:
        return NOTHING
    bar = tag("span", class_="tclab-amount", style=f"--w:{100 * pair.bytes / most_bytes:.3f}%")
    buffers = [
        join([parts.code(name), esc(byte_count(n))], SPACE) for name, n in pair.shared.items()
    ]
    return tag("div", bar, esc("both touch "), join(buffers, COMMA), class_="tclab-shared")


def _draw_card(pair: FusionPair, pairs: FusionPairs, most_bytes: int, options: Options) -> Html:
    verdict = tag("strong", esc("not fused" if pair.verdict == "refused" else pair.verdict))
    saved = f" in round {pair.round}, {bytes_text(pair)}" if pair.saved is not None else ""
    reason = reason_text(pair, pairs)
    pieces = [
        tag("p", verdict, esc(saved), class_="tclab-told"),
        _draw_side(pair.first, pairs, options),
        _draw_side(pair.second, pairs, options),
        tag("p", parts.prose(reason), class_="tclab-why") if reason else NOTHING,
        _draw_shared(pair, most_bytes),
    ]
    return tag("li", *pieces, class_=f"tclab-card tclab-card-{pair.verdict}")


def _draw_cards(shown_pairs: Sequence[FusionPair], pairs: FusionPairs, options: Options) -> Html:
    most_bytes = max((pair.bytes for pair in pairs.pairs), default=0) or 1
    cards = [_draw_card(pair, pairs, most_bytes, options) for pair in shown_pairs]
    shown, rest = cards[:MOST_CARDS], cards[MOST_CARDS:]
    row = tag("ol", *shown, class_="tclab-cards") if shown else NOTHING
    more = tag("ol", *rest, class_="tclab-cards")
    return join([row, parts.fold(parts.count(len(rest), "more pair"), more)]) if rest else row


def _draw_fold(summary: str, folded_pairs: Sequence[FusionPair]) -> Html:
    """Draw a fold with the names of the pairs."""
    if not folded_pairs:
        return NOTHING
    names = (f"{'_'.join(p.first)} with {'_'.join(p.second)}" for p in folded_pairs)
    rows = [tag("li", parts.code(name)) for name in names]
    return parts.fold(summary, tag("ul", *rows, class_="tclab-pairs"))


def _draw_groups(pairs: FusionPairs) -> Html:
    """Draw the final groups, each with its nodes."""
    nodes_by_name = {node.name: node for node in pairs.nodes}
    groups = []
    for group in pairs.groups:
        computed = {op: nodes_by_name[op].computes if op in nodes_by_name else () for op in group}
        rows = (
            tag("li", esc(op), SPACE, parts.code(", ".join(names)))
            for op, names in computed.items()
        )
        groups.append(tag("li", tag("ul", *rows)))
    return tag("ol", *groups, class_="tclab-groups", aria_label="Groups in the end")


def html(artifact: FusionPairs, options: Options) -> Html:
    """Return the groups as boxes, a card for each informative pair, and folds for the others."""
    if not artifact.nodes:
        return parts.note("Nothing was scheduled.")
    informative, disjoint, joined_later = sort_pairs(artifact)
    count = parts.note(summary(artifact))
    disjoint_count, later_count = (
        parts.count(len(group_of_pairs), "pair") for group_of_pairs in (disjoint, joined_later)
    )
    return join(
        (
            count,
            _draw_groups(artifact),
            _draw_cards(informative, artifact, options),
            _draw_fold(f"{disjoint_count} with {NOTHING_SHARED} in the same order", disjoint),
            _draw_fold(
                f"{later_count} that could have been fused, and came together otherwise",
                joined_later,
            ),
        )
    )


# ------------------------------------------------------------------------------ text


def text(artifact: FusionPairs) -> str:
    """Return a table of the informative pairs, and the counts of the others."""
    informative, disjoint, joined_later = sort_pairs(artifact)
    nodes_by_name = {node.name: node for node in artifact.nodes}

    def side_text(ops: Iterable[str]) -> str:
        return "\n".join(
            f"{op} {', '.join(nodes_by_name[op].computes)}" for op in ops if op in nodes_by_name
        )

    rows = [
        (
            side_text(p.first),
            side_text(p.second),
            p.verdict,
            bytes_text(p),
            reason_text(p, artifact),
        )
        for p in informative
    ]
    head = ("node", "with", "verdict", "bytes", "why")
    other_counts = [
        f"{parts.count(len(disjoint), 'pair')} with {NOTHING_SHARED}" if disjoint else ""
    ]
    other_counts += [
        f"{parts.count(len(joined_later), 'pair')} came together otherwise" if joined_later else ""
    ]
    return columns.join(
        columns.heading(artifact.title, summary(artifact)), columns.table(head, rows), *other_counts
    )
