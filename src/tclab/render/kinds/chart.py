"""Render charts: SVG drawn by Matplotlib in the colours of the page, with the data below."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tclab.model import Chart, Table
from tclab.render import columns, parts, ticks
from tclab.render.escape import NOTHING, Html, esc, join, one_line, tag
from tclab.render.kinds import dots, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tclab.render.options import Options

#: The number of colours for series in the style sheet, ``--tclab-series-0`` and so on. Further
#: series begin with the first colour again.
SERIES = 6
_MARKERS = "osD^vP"
#: Placeholder colours of text and grid, which `_recolour` replaces by colours of the style sheet.
INK, _GRID_INK = "#010203", "#010204"
_SIZE = (8.6, 3.7)  # inches at 72 dots: at most 320 px high on a page
#: Width in inches of the drawing for a phone: as wide as a phone's screen, so that letters are not
#: scaled.
_NARROW = 4.4
_SPAN = 0.27  # height of one span in inches
_KINDS = {"bar": "Bar chart", "span": "Timeline", "lanes": "Timeline"}


def placeholder_colour(series: int) -> str:
    """Return the colour of a series in Matplotlib; the page's colour replaces it later."""
    return f"#0203{series % SERIES:02x}"


def to_table(artifact: Chart) -> Table:
    """Return the chart's numbers as a table with a row for each x. The first column is the name, if
    the chart names its points.
    """
    rows = [(x, *(ys[i] for ys in artifact.series.values())) for i, x in enumerate(artifact.x)]
    names = (artifact.x_label or "x", *artifact.series)
    if artifact.names:
        rows = [(dots.point_name(artifact, i) or None, *row) for i, row in enumerate(rows)]
        names = ("name", *names)
    return Table(title=artifact.title, columns=names, rows=tuple(rows))


def describe(artifact: Chart) -> str:
    """Describe the chart in a sentence for screen readers: the range of each series."""
    kind = _KINDS.get(artifact.style, "Line chart")
    start = f"{kind} of {artifact.y_label or 'values'} over {artifact.x_label or 'x'}: "
    return start + ", ".join(_describe_range(artifact, label) for label in artifact.series)


def _describe_range(artifact: Chart, label: str) -> str:
    known = [y for y in artifact.series[label] if y is not None]
    if not known:
        return f"{label} has no points"
    return f"{label} from {table.cell_text(min(known))} to {table.cell_text(max(known))}"


def _positions(artifact: Chart) -> tuple[list[float], bool]:
    """Return the x positions as numbers, and whether they are categories."""
    if artifact.style == "line" and all(isinstance(x, (int, float)) for x in artifact.x):
        return [float(x) for x in artifact.x], False
    return [float(i) for i in range(len(artifact.x))], True


def _plot(axes: Any, artifact: Chart, xs: list[float]) -> None:
    count = max(1, len(artifact.series))
    width = 0.8 / count
    for i, ys in enumerate(artifact.series.values()):
        ink = placeholder_colour(i)
        values = [math.nan if y is None else float(y) for y in ys]
        if artifact.style == "bar":
            lefts = [x + (i - (count - 1) / 2) * width for x in xs]
            axes.bar(lefts, values, width * 0.92, color=ink)
        else:
            style = {"color": ink, "marker": _MARKERS[i % len(_MARKERS)], "markersize": 4.5}
            for line, heights in _split_by_name(artifact, values):
                axes.plot(xs, heights, linestyle=line, linewidth=1.8, **style)


def _split_by_name(artifact: Chart, values: list[float]) -> list[tuple[str, list[float]]]:
    """Split the values into parts (line style, values): one part for points that a line joins, and
    one for single points. Points with a name are single points. In each part, the points of the
    other part are NaN.
    """
    if not artifact.names:
        return [("-", values)]
    named = [bool(name) for name in artifact.names]
    groups = [
        (
            style,
            [
                y if has_name is is_named else math.nan
                for y, has_name in zip(values, named, strict=True)
            ],
        )
        for style, is_named in (("-", False), ("none", True))
    ]
    return [(style, ys) for style, ys in groups if not all(map(math.isnan, ys))]


def _choose_rows(artifact: Chart) -> list[int]:
    """Return the row of each span, from 0."""
    if artifact.style == "lanes":
        row = {label: i for i, label in enumerate(dict.fromkeys(artifact.x))}
        return [row[label] for label in artifact.x]
    return list(range(len(artifact.x)))


def _draw_spans(axes: Any, artifact: Chart) -> None:
    """Draw each span as a bar, the first one on top. In lanes, spans of one label share a row."""
    begins, lengths = (
        [math.nan if y is None else y for y in ys] for ys in artifact.series.values()
    )
    rows = _choose_rows(artifact)
    labels = dict(zip(rows, artifact.x, strict=True))
    axes.barh(rows, lengths, 0.72, left=begins, color=placeholder_colour(0))
    axes.set_yticks(list(labels), [one_line(table.cell_text(x)) for x in labels.values()])
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(ticks.format_number)


def _scale(axes: Any, artifact: Chart, xs: list[float], categories: bool) -> None:
    if artifact.log_x and not categories:
        axes.set_xscale("log", base=2)
    if artifact.log_y:
        axes.set_yscale("log")
    elif artifact.style == "bar":
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.yaxis.set_major_formatter(ticks.format_number)
    axes.xaxis.set_major_formatter(ticks.format_number)
    if categories:
        ticks.set_named_ticks(axes, xs, [one_line(table.cell_text(x)) for x in artifact.x])
    elif len(xs) <= ticks.MOST_TICKS and all(map(float.is_integer, xs)):
        axes.set_xticks(xs, [table.cell_text(x) for x in artifact.x])
        axes.minorticks_off()
    elif artifact.log_x:
        axes.set_xticks(ticks.powers_of_two(xs))
        axes.minorticks_off()


def _draw_chart(axes: Any, artifact: Chart) -> None:
    _fill(axes, artifact)
    is_timeline = artifact.is_timeline
    x_axis, y_axis = one_line(artifact.x_label), one_line(artifact.y_label)
    style_axes(
        axes,
        y_axis if is_timeline else x_axis,
        "" if is_timeline else y_axis,
        "x" if is_timeline else "y",
    )


def style_axes(axes: Any, x_label: str, y_label: str, grid: str = "y") -> None:
    """Set labels, ticks and a grid in the page's colours."""
    axes.set_xlabel(x_label, color=INK)
    axes.set_ylabel(y_label, color=INK)
    axes.tick_params(colors=INK, which="both", length=3)
    axes.grid(True, axis=grid, color=_GRID_INK, linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)


def _choose_size(artifact: Chart) -> tuple[float, float]:
    is_timeline = artifact.is_timeline
    return (_SIZE[0], 0.7 + _SPAN * len(set(_choose_rows(artifact)))) if is_timeline else _SIZE


def _fill(axes: Any, artifact: Chart) -> None:
    if artifact.is_timeline:
        _draw_spans(axes, artifact)
        return
    xs, categories = _positions(artifact)
    _plot(axes, artifact, xs)
    _scale(axes, artifact, xs, categories)


def _draw(fill: Callable[[Any], None], size: tuple[float, float], salt: str) -> tuple[str, Any]:
    """Return the SVG that Matplotlib writes, and the axes. `fill` draws on the axes; `size` is in
    inches; `salt` makes ids reproducible.
    """
    import io

    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings: Any = {"svg.hashsalt": salt, "svg.fonttype": "none", "font.size": 11}
    settings["text.parse_math"] = False  # a dollar sign must not begin a formula
    out = io.StringIO()
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ignore missing glyphs, because the page uses its own font
        figure = Figure(figsize=size, dpi=72, layout="tight")
        axes = figure.add_subplot()
        fill(axes)
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.patch.set_visible(False)
        axes.patch.set_visible(False)
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(out, metadata=nothing)
    return out.getvalue(), axes


def _recolour(svg: str) -> str:
    svg = svg.replace(INK, "currentColor").replace(_GRID_INK, "var(--tclab-grid)")
    for i in range(SERIES):
        svg = svg.replace(placeholder_colour(i), f"var(--tclab-series-{i})")
    return svg


def draw_svg(artifact: Chart, options: Options, *, narrow: bool = False) -> Html:
    """Draw the chart as an SVG: as wide as the text of a page, or, if `narrow`, as wide as a
    phone.
    """

    def fill(axes: Any) -> None:
        _draw_chart(axes, artifact)

    def marks(axes: Any) -> Html:
        has_names = artifact.style == "line" and artifact.names
        return (
            dots.draw_dots(artifact, _positions(artifact)[0], axes, options)
            if has_names
            else NOTHING
        )

    title = artifact.title or "Chart"
    words = title, describe(artifact)
    return draw(fill, _choose_size(artifact), options, words, marks, narrow=narrow)


def draw(
    fill: Callable[[Any], None],
    size: tuple[float, float],
    options: Options,
    words: tuple[str, str],
    marks: Callable[[Any], Html] = lambda _: NOTHING,
    *,
    narrow: bool = False,
) -> Html:
    """Return what `fill` draws on Matplotlib's axes as an SVG with the page's colours and fonts.

    `size` is in inches; `words` are a title and a description for screen readers. `marks` draws
    elements on top when the layout of the axes is final. An SVG with links has the role of a group,
    because screen readers do not look into an image. A `narrow` SVG is for phones.
    """
    size = (min(size[0], _NARROW), size[1]) if narrow else size
    options = options.for_part("narrow") if narrow else options
    svg, axes = _draw(fill, size, options.prefix or "tclab")
    overlay = marks(axes)
    box = re.search(r'viewBox="([\d. ]+)"', svg)
    title, description = map(one_line, words)
    return tag(
        "svg",
        tag("title", esc(title)),
        tag("desc", esc(description)),
        _extract_drawing(svg, options.id("svg")),
        overlay,
        xmlns="http://www.w3.org/2000/svg",
        class_="tclab-chart-narrow" if narrow else "tclab-chart",
        role="group" if "<a " in overlay else "img",
        viewBox=box[1] if box else "",
        aria_label=title,
    )


def draw_wide_and_narrow(draw_chart: Callable[[bool], Html]) -> Html:
    """Draw a chart twice, wide and narrow; the style sheet shows one of them."""
    return join(map(draw_chart, (False, True)))


def _extract_drawing(svg: str, prefix: str) -> Html:
    """Extract Matplotlib's drawing from its SVG and put `prefix` before the ids. Matplotlib has
    escaped all text.
    """
    drawing = svg[svg.index("<g id=") if "<g id=" in svg else svg.index(">") : svg.rindex("</svg>")]
    drawing = re.sub(r"<!--.*?-->\n?", "", drawing, flags=re.DOTALL)
    drawing = re.sub(r"<style[^>]*>.*?</style>", "", drawing, flags=re.DOTALL)
    drawing = re.sub(r'\bid="', f'id="{prefix}-', drawing)
    drawing = re.sub(r'(xlink:)?href="#', f'href="#{prefix}-', drawing)
    drawing = re.sub(r"url\(#", f"url(#{prefix}-", drawing)
    drawing = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", drawing)
    drawing = re.sub(r"; font-family: [^;\"]*", "", drawing)
    return Html(_recolour(drawing).replace("`", "&#96;").replace("~", "&#126;").strip())


def legend(labels: Iterable[str]) -> Html:
    """Return a legend: the colour and the label of each series, in drawing order."""
    items = [tag("li", _draw_swatch(i % SERIES), esc(label)) for i, label in enumerate(labels)]
    return tag("ul", *items, class_="tclab-legend")


def _draw_swatch(series: int) -> Html:
    return tag("span", class_="tclab-swatch", style=f"--c:var(--tclab-series-{series})")


def html(artifact: Chart, options: Options) -> Html:
    """Return legend, picture, caption, and the data in a fold."""
    if not artifact.x or not artifact.series:
        return parts.note("No data.")
    drawings = draw_wide_and_narrow(lambda narrow: draw_svg(artifact, options, narrow=narrow))
    drawing = parts.scroll_box(drawings, artifact.title or "Chart", search=False)
    caption = parts.caption(artifact.caption)
    unfolded = replace(options, fold=False)  # the table is already inside a fold
    body = table.html(to_table(artifact), unfolded, dots.linked_names(artifact, options))
    numbers = parts.fold("The data as a table", body, search=False)
    single = artifact.is_timeline or len(artifact.series) == 1  # the title says what it is
    legend_html = NOTHING if single else legend(artifact.series)
    return join([legend_html, drawing, caption, numbers])


def text(artifact: Chart) -> str:
    """Return the data as a table."""
    axes_text = artifact.y_label and f"{artifact.y_label} over {artifact.x_label or 'x'}"
    head = columns.heading(artifact.title, axes_text)
    caption = columns.paragraph(artifact.caption, other_prefix="") if artifact.caption else ""
    body = table.text(replace(to_table(artifact), title=""))
    return columns.join(head, body, caption)
