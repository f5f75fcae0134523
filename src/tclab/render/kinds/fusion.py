"""Why two nodes were fused or not: a card a pair; what tells nothing is one line until opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.model import NOTHING_SHARED
from tclab.render import columns, highlight, parts
from tclab.render.escape import COMMA, NOTHING, SPACE, Html, esc, join, markup, tag
from tclab.render.options import Options, place
from tclab.render.parts import byte_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tclab.model import FusionPair, FusionPairs, ScheduledNode

#: More cards are folded.
MOST_CARDS = 24
#: Lines of the user's that a side names.
MOST_LINES = 3

_NO_REASON = "Inductor gives no reason."
_ALL_THE_SAME = "In the end they are in one group all the same, through other pairs."


def summary(pairs: FusionPairs) -> str:
    """How many pairs there were, and what fusing saved."""
    fused = pairs.of("fused")
    saved = sum(pair.saved or 0 for pair in fused)
    into = parts.count(len(pairs.groups), "group")
    return (
        f"{parts.count(len(pairs.nodes), 'node')}, in the end {into}. "
        f"{parts.count(len(pairs.pairs), 'pair')} considered, {len(fused)} fused: "
        f"{byte_count(saved)} of memory traffic saved."
    )


def sorted_out(
    pairs: FusionPairs,
) -> tuple[list[FusionPair], list[FusionPair], list[FusionPair]]:
    """The pairs that tell something; those that share nothing; and those that could have fused,
    and are in one group through other pairs.
    """
    telling, apart, later = [], [], []
    for pair in pairs.pairs:
        if pair.reason == NOTHING_SHARED:
            apart.append(pair)
        elif pair.verdict == "possible" and pairs.together(pair):
            later.append(pair)
        else:
            telling.append(pair)
    return telling, apart, later


def why(pair: FusionPair, pairs: FusionPairs) -> str:
    """The reason in Inductor's words, or what is known where it gives none."""
    if pair.verdict == "fused":
        return ""
    if pair.verdict == "possible":
        return "They could have been fused; another pair was taken."
    by = f" `{pair.declined_by}` declined." if pair.declined_by else ""
    reason = f"“{pair.reason}”" if pair.reason else _NO_REASON + by
    return f"{reason} {_ALL_THE_SAME}" if pairs.together(pair) else reason


def gain(pair: FusionPair) -> str:
    """What fusing saved, or what both touch."""
    if pair.saved is not None:
        return (
            f"saves {byte_count(pair.saved)}: {byte_count(pair.before or 0)} alone, "
            f"{byte_count(pair.after or 0)} together"
        )
    return f"shares {byte_count(pair.bytes)}" if pair.shared else "shares nothing in the same order"


# ------------------------------------------------------------------------------ HTML


def _side(ops: Iterable[str], pairs: FusionPairs, options: Options) -> Html:
    """The nodes of one side, each with what it computes; the user's lines once."""
    known = {node.name: node for node in pairs.nodes}
    nodes = [known[op] for op in ops if op in known]
    named = join(map(_named, nodes), markup("; "))
    lines = dict.fromkeys(line for node in nodes for line in node.locations)
    places = (
        tag("span", place(line, options), SPACE, highlight.inline(line.code), class_="tclab-where")
        for line in list(lines)[:MOST_LINES]
    )
    return tag("div", named, *places, class_="tclab-side")


def _named(node: ScheduledNode) -> Html:
    computed = join(map(parts.code, node.computes), COMMA) or parts.DASH
    return join([tag("span", esc(node.name), class_="tclab-op"), computed], SPACE)


def _shared(pair: FusionPair, most: int) -> Html:
    """A bar as long as the bytes that both touch, and the buffers they are in."""
    if not pair.shared:
        return NOTHING
    bar = tag("span", class_="tclab-amount", style=f"--w:{100 * pair.bytes / most:.3f}%")
    named = [join([parts.code(name), esc(byte_count(n))], SPACE) for name, n in pair.shared.items()]
    return tag("div", bar, esc("both touch "), join(named, COMMA), class_="tclab-shared")


def _card(pair: FusionPair, pairs: FusionPairs, most: int, options: Options) -> Html:
    verdict = tag("strong", esc("not fused" if pair.verdict == "refused" else pair.verdict))
    saved = f" in round {pair.round}, {gain(pair)}" if pair.saved is not None else ""
    reason = why(pair, pairs)
    pieces = [
        tag("p", verdict, esc(saved), class_="tclab-told"),
        _side(pair.first, pairs, options),
        _side(pair.second, pairs, options),
        tag("p", parts.prose(reason), class_="tclab-why") if reason else NOTHING,
        _shared(pair, most),
    ]
    return tag("li", *pieces, class_=f"tclab-card tclab-card-{pair.verdict}")


def _cards(chosen: Sequence[FusionPair], pairs: FusionPairs, options: Options) -> Html:
    most = max((pair.bytes for pair in pairs.pairs), default=0) or 1
    cards = [_card(pair, pairs, most, options) for pair in chosen]
    first, rest = cards[:MOST_CARDS], cards[MOST_CARDS:]
    row = tag("ol", *first, class_="tclab-cards") if first else NOTHING
    more = tag("ol", *rest, class_="tclab-cards")
    return join([row, parts.fold(parts.count(len(rest), "more pair"), more)]) if rest else row


def _folded(summary: str, several: Sequence[FusionPair]) -> Html:
    """One line; the pairs themselves when it is opened."""
    if not several:
        return NOTHING
    named = (f"{'_'.join(p.first)} with {'_'.join(p.second)}" for p in several)
    rows = [tag("li", parts.code(name)) for name in named]
    return parts.fold(summary, tag("ul", *rows, class_="tclab-pairs"))


def _groups(pairs: FusionPairs) -> Html:
    """The groups in the end, each with its nodes."""
    known = {node.name: node for node in pairs.nodes}
    groups = []
    for group in pairs.groups:
        computed = {op: known[op].computes if op in known else () for op in group}
        rows = (
            tag("li", esc(op), SPACE, parts.code(", ".join(names)))
            for op, names in computed.items()
        )
        groups.append(tag("li", tag("ul", *rows)))
    return tag("ol", *groups, class_="tclab-groups", aria_label="Groups in the end")


def html(artifact: FusionPairs, options: Options) -> Html:
    """The groups as boxes, a card a pair, and a line for those that share nothing."""
    if not artifact.nodes:
        return parts.note("Nothing was scheduled.")
    telling, apart, later = sorted_out(artifact)
    count = parts.note(summary(artifact))
    nothing, could = (parts.count(len(each), "pair") for each in (apart, later))
    return join(
        (
            count,
            _groups(artifact),
            _cards(telling, artifact, options),
            _folded(f"{nothing} with {NOTHING_SHARED} in the same order", apart),
            _folded(f"{could} that could have been fused, and came together otherwise", later),
        )
    )


# ------------------------------------------------------------------------------ text


def text(artifact: FusionPairs) -> str:
    """A row a pair that tells something, for a terminal; how many others there were."""
    telling, apart, later = sorted_out(artifact)
    known = {node.name: node for node in artifact.nodes}

    def side(ops: Iterable[str]) -> str:
        return "\n".join(f"{op} {', '.join(known[op].computes)}" for op in ops if op in known)

    rows = [(side(p.first), side(p.second), p.verdict, gain(p), why(p, artifact)) for p in telling]
    head = ("node", "with", "verdict", "bytes", "why")
    rest = [f"{parts.count(len(apart), 'pair')} with {NOTHING_SHARED}" if apart else ""]
    rest += [f"{parts.count(len(later), 'pair')} came together otherwise" if later else ""]
    return columns.join(
        columns.heading(artifact.title, summary(artifact)), columns.table(head, rows), *rest
    )
