"""Render memory: one curve for each run with the bytes held over time. All runs have the same
phases.
"""

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

_SIZE = (8.6, 3.4)  # the size of the drawing in inches


def _phase_names(artifact: Memory) -> list[str]:
    """Return the names of the phases, in order."""
    return [phase.name for phase in artifact.runs[0].phases]


def curve_points(run: MemoryRun) -> tuple[list[float], list[float]]:
    """Return the x positions and the KiB of a run's curve. Each phase has width 1; its moments are
    evenly spaced in it.
    """
    xs, ys = [0.0], [0.0]
    for begin, phase in enumerate(run.phases):
        count = len(phase.moments)
        xs += [begin + (i + 1) / (count + 1) for i in range(count)]
        ys += [moment.bytes / 1024 for moment in phase.moments]
    return [*xs, float(len(run.phases))], [*ys, ys[-1]]


def _draw_curves(axes: Any, artifact: Memory) -> None:
    for index, run in enumerate(artifact.runs):
        xs, ys = curve_points(run)
        axes.plot(
            xs, ys, drawstyle="steps-post", color=chart.placeholder_colour(index), linewidth=1.8
        )
        axes.fill_between(
            xs, ys, step="post", color=chart.placeholder_colour(index), alpha=0.12, linewidth=0
        )
    names = _phase_names(artifact)
    axes.set_xlim(0, len(names))
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.yaxis.set_major_formatter(ticks.format_number)
    axes.set_xticks([index + 0.5 for index in range(len(names))], list(map(one_line, names)))
    chart.style_axes(axes, "", "KiB held")
    for border in range(1, len(names)):
        axes.axvline(border, color=chart.INK, linewidth=0.8, linestyle=":")


def _table_rows(artifact: Memory) -> list[tuple[str, ...]]:
    """Return a row for each run: its peak, the operation at the peak, the bytes after each phase,
    and the number of allocations and releases.
    """
    rows = []
    for run in artifact.runs:
        moments = list(chain.from_iterable(phase.moments for phase in run.phases))
        during = next((moment.during for moment in moments if moment.bytes == run.peak), "")
        after = (byte_count(run.after(name)) for name in _phase_names(artifact))
        rows.append((run.label, byte_count(run.peak), during, *after, str(len(moments))))
    return rows


def _column_names(artifact: Memory) -> tuple[str, ...]:
    after = (f"after {name}" for name in _phase_names(artifact))
    return ("run", "peak", "during", *after, "allocations and releases")


def html(artifact: Memory, options: Options) -> Html:
    """Return the curves, then a table with a row for each run."""
    if not artifact.runs:
        return parts.note("Nothing was run.")
    peaks = ", ".join(f"{run.label} at most {byte_count(run.peak)}" for run in artifact.runs)

    def fill(axes: Any) -> None:
        _draw_curves(axes, artifact)

    title = artifact.title or "Memory held"
    words = title, f"Memory held, step by step: {peaks}"
    drawing = chart.draw_wide_and_narrow(
        lambda narrow: chart.draw(fill, _SIZE, options, words, narrow=narrow)
    )
    rows = [
        [parts.code(cell) if i == 2 else esc(cell) for i, cell in enumerate(row)]
        for row in _table_rows(artifact)
    ]
    caption = parts.caption(artifact.caption)
    legend = chart.legend(run.label for run in artifact.runs)
    table = parts.table(_column_names(artifact), rows, label=title)
    return join([legend, parts.scroll_box(drawing, title, search=False), caption, table])


def text(artifact: Memory) -> str:
    """Return the table with a row for each run."""
    if not artifact.runs:
        return columns.heading(artifact.title, "nothing was run")
    caption = columns.paragraph(artifact.caption, other_prefix="") if artifact.caption else ""
    table = columns.table(_column_names(artifact), _table_rows(artifact))
    return columns.join(columns.heading(artifact.title), table, caption)
