"""Draw what became of a job's graphs when they were compiled again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tclab.model import JobReplay, JobReplayKernel, Table
from tclab.render import parts
from tclab.render.escape import NOTHING, Html, esc, join, tag

_CALLS = "calls and buffers"


def table(replays: Sequence[JobReplay]) -> Table:
    """Return a table with a row for each graph: how many kernels came out the same."""
    several = len({each.process for each in replays}) > 1
    rows = [
        (f"{each.process} {each.compile_id}" if several else each.compile_id, each.direction,
         _count(each), _word(each), "kept" if each.kept else round(each.seconds, 1))
        for each in replays
    ]  # fmt: skip
    columns = ("graph", "direction", "kernels the same", "compiled again", "seconds")
    return Table("Graphs compiled again from the trace", "replays", columns, tuple(rows))


def _count(replay: JobReplay) -> str | None:
    if replay.cause:
        return None
    kernels = [each for each in replay.kernels if each.name]
    return f"{sum(each.is_same for each in kernels)} of {len(kernels)}"


def _word(replay: JobReplay) -> str:
    """Return what became of a graph: the words of its first kernel that differs, and the others'
    names.
    """
    if replay.cause:
        return f"not compiled again: {replay.cause}"
    differing = [each for each in replay.kernels if not each.is_same]
    names = ", ".join(each.name or _CALLS for each in differing)
    words = (differing or replay.kernels)[0].verdict
    return f"{words}: {names}" if differing else words


def html(replays: Sequence[JobReplay]) -> Html:
    """Return each kernel with a word, and its difference folded; '' if there are none."""
    several = len({each.process for each in replays}) > 1
    drawn = [_draw(each, several) for each in replays if each.kernels]
    return tag("div", *drawn, class_="tclab") if drawn else NOTHING


def _draw(replay: JobReplay, several: bool) -> Html:
    process = f"{replay.process}, " if several else ""
    title = f"{process}{replay.compile_id} {replay.direction}: {_count(replay)} the same"
    items = [tag("li", join(_draw_kernel(each))) for each in replay.kernels]
    if replay.lacking:
        items.append(tag("li", esc(f"Without instructions: {replay.lacking}")))
    return parts.fold(title, tag("ul", *items))


def _draw_kernel(kernel: JobReplayKernel) -> Iterator[Html]:
    yield tag("code", esc(kernel.name)) if kernel.name else esc(_CALLS)
    yield esc(f": {kernel.verdict}")
    if kernel.difference:
        yield parts.fold("the difference", tag("pre", esc(kernel.difference)), search=False)
