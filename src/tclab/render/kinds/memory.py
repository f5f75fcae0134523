"""Memory held over a run, as a curve: the same phases for all, as many steps as each has."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from tclab.render import columns, parts, ticks
from tclab.render.escape import Html, esc, join, one_line
from tclab.render.kinds import chart
from tclab.render.parts import byte_count

if TYPE_CHECKING:
    from tclab.model import Memory, MemoryRun
    from tclab.render.options import Options

_SIZE = (7.2, 3.4)  # inches


def _names(artifact: Memory) -> list[str]:
    """The phases, in order."""
    return [phase.name for phase in artifact.runs[0].phases]


def curve(run: MemoryRun) -> tuple[list[float], list[float]]:
    """Places and KiB. A phase is one long, whatever it took: its moments stand evenly in it."""
    xs, ys = [0.0], [0.0]
    for begin, phase in enumerate(run.phases):
        count = len(phase.moments)
        xs += [begin + (i + 1) / (count + 1) for i in range(count)]
        ys += [moment.bytes / 1024 for moment in phase.moments]
    return [*xs, float(len(run.phases))], [*ys, ys[-1]]


def _fill(axes: Any, artifact: Memory) -> None:
    for i, run in enumerate(artifact.runs):
        xs, ys = curve(run)
        axes.plot(xs, ys, drawstyle="steps-post", color=chart.colour(i), linewidth=1.8)
        axes.fill_between(xs, ys, step="post", color=chart.colour(i), alpha=0.12, linewidth=0)
    names = _names(artifact)
    axes.set_xlim(0, len(names))
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.yaxis.set_major_formatter(ticks.number)
    axes.set_xticks([i + 0.5 for i in range(len(names))], list(map(one_line, names)))
    chart.dress(axes, "", "KiB held")
    for border in range(1, len(names)):
        axes.axvline(border, color=chart.INK, linewidth=0.8, linestyle=":")


def _rows(artifact: Memory) -> list[tuple[str, ...]]:
    """A run's peak, where it was, and what is held after each phase."""
    rows = []
    for run in artifact.runs:
        moments = list(chain.from_iterable(phase.moments for phase in run.phases))
        during = next((m.during for m in moments if m.bytes == run.peak), "")
        after = (byte_count(run.after(name)) for name in _names(artifact))
        rows.append((run.label, byte_count(run.peak), during, *after, str(len(moments))))
    return rows


def _head(artifact: Memory) -> tuple[str, ...]:
    after = (f"after {name}" for name in _names(artifact))
    return ("run", "peak", "during", *after, "allocations and releases")


def html(artifact: Memory, options: Options) -> Html:
    """The curves, then a row a run."""
    if not artifact.runs:
        return parts.note("Nothing was run.")
    peaks = ", ".join(f"{run.label} at most {byte_count(run.peak)}" for run in artifact.runs)

    def fill(axes: Any) -> None:
        _fill(axes, artifact)

    title = artifact.title or "Memory held"
    words = title, f"Memory held, step by step: {peaks}"
    drawn = chart.on_each_screen(
        lambda narrow: chart.drawn(fill, _SIZE, options, words, narrow=narrow)
    )
    rows = [
        [parts.code(c) if i == 2 else esc(c) for i, c in enumerate(row)] for row in _rows(artifact)
    ]
    caption = parts.caption(artifact.caption)
    named = chart.legend(run.label for run in artifact.runs)
    table = parts.table(_head(artifact), rows, label=title)
    return join([named, parts.scroll(drawn, title, search=False), caption, table])


def text(artifact: Memory) -> str:
    """The table, for a terminal."""
    if not artifact.runs:
        return columns.heading(artifact.title, "nothing was run")
    caption = columns.paragraph(artifact.caption, rest="") if artifact.caption else ""
    table = columns.table(_head(artifact), _rows(artifact))
    return columns.join(columns.heading(artifact.title), table, caption)
