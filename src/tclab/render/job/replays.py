"""Draw what became of a job's graphs when they were compiled again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tclab.model import JobReplay, JobReplayKernel, Table
from tclab.render import parts
from tclab.render.escape import NOTHING, Html, esc, join, tag

_SAME = "the same as in the job"
_CALLS = "calls and buffers"


def table(replays: Sequence[JobReplay]) -> Table:
    """Return a table with a row for each graph: how many kernels came out the same."""
    several = len({each.process for each in replays}) > 1
    rows = [
        (f"{each.process} {each.compile_id}" if several else each.compile_id, each.direction,
         _count(each), _word(each), round(each.seconds, 1))
        for each in replays
    ]  # fmt: skip
    columns = ("graph", "direction", "kernels the same", "compiled again", "seconds")
    return Table("Graphs compiled again from the trace", "replays", columns, tuple(rows))


def _count(replay: JobReplay) -> str | None:
    if replay.cause:
        return None
    kernels = [each for each in replay.kernels if each.name]
    return f"{sum(each.verdict == _SAME for each in kernels)} of {len(kernels)}"


def _word(replay: JobReplay) -> str:
    """Return what became of a graph, with the version of PyTorch if it is not the job's."""
    if replay.cause:
        return f"not compiled again: {replay.cause}"
    differing = [each.name or _CALLS for each in replay.kernels if each.verdict != _SAME]
    word = f"differs: {', '.join(differing)}" if differing else _SAME
    return f"{word}{version_note(replay)}"


def version_note(replay: JobReplay) -> str:
    """Return ``, with PyTorch 2.13 instead of 2.11``, or '' if the versions have one minor
    release.
    """
    used, traced = (".".join(text.split(".")[:2]) for text in (replay.torch, replay.traced))
    return "" if used == traced else f", with PyTorch {used} instead of {traced or 'the job’s'}"


def html(replays: Sequence[JobReplay]) -> Html:
    """Return each kernel with a word, and its difference folded; '' if there are none."""
    drawn = [_draw(each, len({r.process for r in replays}) > 1) for each in replays if each.kernels]
    return tag("div", *drawn, class_="tclab") if drawn else NOTHING


def _draw(replay: JobReplay, several: bool) -> Html:
    process = f"{replay.process}, " if several else ""
    title = f"{process}{replay.compile_id} {replay.direction}: {_count(replay)} the same"
    note = version_note(replay)
    items = [tag("li", join(_draw_kernel(each, note))) for each in replay.kernels]
    return parts.fold(title, tag("ul", *items))


def _draw_kernel(kernel: JobReplayKernel, note: str) -> Iterator[Html]:
    yield tag("code", esc(kernel.name)) if kernel.name else esc(_CALLS)
    yield esc(f": {kernel.verdict}{note}")
    if kernel.difference:
        yield parts.fold("the difference", tag("pre", esc(kernel.difference)), search=False)
