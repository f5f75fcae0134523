"""Draw the idea of a chapter from the values that its snippets showed.

    ---
    picture: guards
    ---

A drawing is as wide as a phone's screen, its letters are 12 px high there, and what it says with a
border or a dash needs no colour and no script.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tclab.errors import PageError
from tclab.model import Artifact, CachedCall, Graph, Node, Replay, Table
from tclab.render.escape import Html, esc, markup, tag
from tclab.render.picture import type_text
from tclab.site.pages.site import flow

WIDTH = 344
_HEAD = markup(
    '<defs><marker id="tclab-idea-head" viewBox="-6 -5 7 10" orient="auto" markerWidth="7"'
    ' markerHeight="10" markerUnits="userSpaceOnUse"><path d="M-5 -4L0 0L-5 4"/></marker></defs>'
)

#: Artifacts of a snippet by their names.
Shown = Mapping[str, Artifact]


def drawing(name: str, artifacts: Callable[[str], Shown], path_to_root: str, place: str) -> Html:
    """Return the drawing called `name`; `artifacts` returns what a snippet showed.

    Raises PageError at `place` for an unknown name.
    """
    if name == "way":
        return flow.way(path_to_root)
    if name not in PICTURES:
        step = f"there are: way, {', '.join(PICTURES)}"
        raise PageError(place, f"there is no picture {name!r}", step)
    picture = PICTURES[name]
    shapes = picture.draw(*map(artifacts, picture.snippets))
    svg = tag("svg", _HEAD, *shapes, xmlns="http://www.w3.org/2000/svg", role="img",
              viewBox=f"0 0 {WIDTH} {picture.height}", aria_label=picture.label)  # fmt: skip
    return tag("figure", svg, class_="tclab-way", data_search_exclude="")


def _box(x: int, y: int, width: int, lines: Iterable[str], kind: str = "") -> Html:
    """Return a box with lines of text, the first in bold letters."""
    texts = [*lines]
    frame = markup(
        '<rect x="{}" y="{}" width="{}" height="{}" rx="4"/>', x, y, width, 12 + 15 * len(texts)
    )
    words = (
        tag("text", esc(line), x=x + width // 2, y=y + 18 + 15 * i, text_anchor="middle",
            font_weight="600" if i == 0 else None)
        for i, line in enumerate(texts)
    )  # fmt: skip
    return tag("g", frame, *words, class_=f"tclab-{kind}" if kind else None)


def _arrow(path: str) -> Html:
    return markup('<path d="{}" marker-end="url(#tclab-idea-head)"/>', esc(path))


def _words(x: int, y: int, text: str) -> Html:
    return tag("text", esc(text), x=x, y=y, text_anchor="middle")


def _line(x: int, y: int, text: str) -> Html:
    """Return words that begin at x."""
    return tag("text", esc(text), x=x, y=y)


# --------------------------------------------------------------------------- guards


def _lookup(shown: Shown) -> Iterator[Html]:
    """Draw two calls from the log of a cache: one that tried two entries and hit, and one that
    tried two and compiled.
    """
    (replay,) = (each for each in shown.values() if isinstance(each, Replay))
    two = [call for call in replay if len(call.attempts) == 2]
    for y, call in zip((4, 82), (_first(two, hit=True), _first(two, hit=False)), strict=True):
        yield _box(2, y + 8, 54, [call.call])
        for x, attempt in zip((72, 170), call.attempts, strict=True):
            why = _reason(attempt.failed) if attempt.failed else ["all guards", "hold"]
            yield _arrow(f"M{x - 16} {y + 24}H{x - 3}")
            kind = "fails" if attempt.failed else "here"
            yield _box(x, y, 82, [attempt.entry, *why], kind)
        end = ["its code", "runs"] if call.hit else ["compiled:", call.made]
        yield _arrow(f"M252 {y + 24}H265")
        yield _box(268, y, 74, end, "" if call.hit else "here")


def _first(calls: Iterable[CachedCall], *, hit: bool) -> CachedCall:
    return next(call for call in calls if bool(call.hit) is hit)


def _reason(failed: str) -> list[str]:
    """Return a guard that failed as two short lines."""
    if sizes := re.search(r"expected (\d+), actual (\d+)", failed):
        return [f"expected {sizes[1]},", f"actual {sizes[2]}"]
    return [re.sub(r"L\['x'\]\.size\(\)\[0\]", "size", failed), "does not hold"]


# --------------------------------------------------------------------------- dynamic shapes


def _symbol(shown: Shown) -> Iterator[Html]:
    """Draw four sizes, and the graph that each call ran: the first size has its own."""
    (table,) = (each for each in shown.values() if isinstance(each, Table))
    graphs = [each for each in shown.values() if isinstance(each, Graph)]
    entries: list[str] = []
    for i, (size, ran, *_) in enumerate(table.rows[:4]):
        entry, _, compiled = str(ran).partition(" ")
        entries += [] if entry in entries else [entry]
        y, end = 4 + 36 * i, 30 if entry == entries[0] else 102
        yield _box(2, y, 76, [f"size {size}"])
        yield _arrow(f"M78 {y + 14}H{96}L188 {end}H197")
        if compiled:
            yield _words(146, y + 8, "compiles")
    for y, entry, graph in zip((8, 74), entries, graphs, strict=True):
        inputs = [node for node in graph.nodes if node.op == "placeholder"]
        yield _box(200, y, 142, [f"graph {entry}", *map(_typed, inputs)], "here")


def _typed(node: Node) -> str:
    return f"{node.name}: {type_text(node)}"


# --------------------------------------------------------------------------- CUDA graphs


def _replayed(launched: Shown, kept: Shown) -> Iterator[Html]:
    """Draw what four calls launch, and the memory that two replays write to."""
    (launches,) = (each for each in launched.values() if isinstance(each, Table))
    for i, (call, kernels, graphs) in enumerate(launches.rows[:4]):
        lines = (f"call {call}", f"kernels: {kernels}", f"graphs: {graphs}")
        yield _box(2 + 87 * i, 4, 80, lines, "here" if kernels == graphs else "")
    (table,) = (each for each in kept.values() if isinstance(each, Table))
    values = {str(name): str(value) for name, value in table.rows}
    yield _arrow("M216 61V94")
    yield _arrow("M303 61V94")
    yield _words(100, 84, "each replay writes here:")
    yield _box(176, 98, 167, ["memory of the output"])
    was, now = values["cloned"], values["output of call 3, kept as it is"]
    yield _words(172, 146, f"call 3's output, read after call 4: {now}; a clone of it: {was}")


# --------------------------------------------------------------------------- the joint graph


def _cut(shown: Shown) -> Iterator[Html]:
    """Draw the joint graph, its two halves, and the values that pass from the one to the other."""
    (halves,) = (each for each in shown.values() if isinstance(each, Table))
    (joint, forward, backward) = (
        [str(name), f"{operations} operations", str(inputs)]
        for name, operations, inputs in halves.rows
    )
    (*saved, gradient) = backward.pop().split(", ")
    yield _box(72, 4, 200, joint, "here")
    yield _arrow("M100 61V83")
    yield _arrow("M250 61V83")
    yield _box(2, 88, 130, forward)
    yield _words(178, 108, ", ".join(saved))
    yield _arrow("M132 116H221")
    yield _words(178, 132, "saved")
    yield _box(226, 88, 116, [*backward, gradient])


# --------------------------------------------------------------------------- caches on disk


def _keys(shown: Shown) -> Iterator[Html]:
    """Draw calls of other processes, and what each of the two graph caches had for them."""
    (answers,) = (each for each in shown.values() if isinstance(each, Table))
    _, _, outer, inner = answers.columns
    yield _words(176, 16, outer)
    yield _words(294, 16, inner)
    for i, (call, _, *found) in enumerate(answers.rows[1:4]):
        y = 26 + 36 * i
        yield _box(2, y, 104, [str(call).partition(",")[0]])
        for x, width, answer in zip((124, 246), (104, 96), map(str, found), strict=True):
            yield _arrow(f"M{x - 18} {y + 14}H{x - 3}")
            yield _box(x, y, width, [answer], "fails" if "miss" in answer else "here")


# --------------------------------------------------------------------------- decoding


def _caches(shown: Shown) -> Iterator[Html]:
    """Draw what a token copies: a growing cache, as long as it is then, and a static one."""
    (table,) = (each for each in shown.values() if isinstance(each, Table))
    copied = {str(name): (int(first), int(last)) for name, *_, first, last in table.rows}  # type: ignore[arg-type]
    longest = max(copied["growing"])
    for x, name in ((2, "growing"), (190, "static")):
        yield _line(x, 16, f"{name}: what is copied")
        for i, (which, moved) in enumerate(zip(("first", "last"), copied[name], strict=True)):
            y = 26 + 66 * i
            width = 152 * moved // longest if moved else 152
            yield _box(x, y, width, [""], "fails" if moved else "here")
            yield _line(x, y + 46, f"{which} token: {moved:,} bytes")


# --------------------------------------------------------------------------- several GPUs


def _buckets(shown: Shown) -> Iterator[Html]:
    """Draw when graphs end and buckets leave in a backward, cut at the buckets and not cut."""
    (table,) = (each for each in shown.values() if isinstance(each, Table))
    for row, (name, order) in enumerate(table.rows[1:]):
        x, y = 2, 24 + 62 * row
        yield _line(x, y - 8, f"{name}: a bucket leaves where it is dashed")
        for event in str(order).split(", "):
            is_graph = event == "graph"
            width = 48 if is_graph else 22
            yield _box(x, y, width, [event if is_graph else ""], "here" if is_graph else "fails")
            x += width + 4


@dataclass(frozen=True)
class Picture:
    """What a screen reader says, the height, and what draws it from what the snippets showed."""

    label: str
    height: int
    draw: Callable[..., Iterator[Html]]
    snippets: tuple[str, ...]


PICTURES = {
    "guards": Picture(
        "Two calls and the cache entries that each tried. One runs the second entry, whose guards"
        " all hold; for the other none fits, and Dynamo compiles.",
        144,
        _lookup,
        ("guards/the_cache_call_by_call",),
    ),
    "symbol": Picture(
        "Four sizes and the graph that each call ran. The first has a graph of its own; the second"
        " compiles one with a symbol, which serves the sizes after it.",
        142,
        _symbol,
        ("guards/shapes_call_by_call",),
    ),
    "replay": Picture(
        "What four calls launch: kernels, then a CUDA graph each, which writes to the same memory.",
        152,
        _replayed,
        ("cuda_graphs/what_a_call_launches", "cuda_graphs/an_output_is_overwritten"),
    ),
    "cut": Picture(
        "The joint graph and its two halves. The forward saves values for the backward.",
        152,
        _cut,
        ("aot_autograd/joint_graph_and_its_partition",),
    ),
    "keys": Picture(
        "Three calls in new processes, and what the two graph caches had for each.",
        134,
        _keys,
        ("caches/hit_miss_bypass",),
    ),
    "caches": Picture(
        "A growing cache is copied at each token, and is longer each time. A static one stays.",
        146,
        _caches,
        ("decoding/a_growing_cache_and_a_static_one",),
    ),
    "buckets": Picture(
        "One backward under DDP. Cut at the buckets, one leaves after each graph; not cut, all"
        " leave after the only graph.",
        120,
        _buckets,
        ("several_gpus/when_buckets_leave",),
    ),
}
