"""Charts: drawn by Matplotlib as SVG, coloured by the page, with their data beneath."""

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

#: Colours of series in the style sheet: ``--tclab-series-0`` and so on, then from the first.
SERIES = 6
_MARKERS = "osD^vP"
INK, _GRID = "#010203", "#010204"
_SIZE = (7.2, 3.8)  # inches at 72 dots
#: Inches of the drawing for a phone, as wide as its screen: letters are drawn in their size.
_NARROW = 4.4
_SPAN = 0.27  # inches, of one span's height
_KINDS = {"bar": "Bar chart", "span": "Timeline", "lanes": "Timeline"}


def colour(series: int) -> str:
    """The colour a series is drawn in, before the page's own takes its place."""
    return f"#0203{series % SERIES:02x}"


def data(artifact: Chart) -> Table:
    """The chart's numbers: a row for each x, beginning with its name where there are names."""
    rows = [(x, *(ys[i] for ys in artifact.series.values())) for i, x in enumerate(artifact.x)]
    names = (artifact.x_label or "x", *artifact.series)
    if artifact.names:
        rows = [(dots.name(artifact, i) or None, *row) for i, row in enumerate(rows)]
        names = ("name", *names)
    return Table(title=artifact.title, columns=names, rows=tuple(rows))


def describe(artifact: Chart) -> str:
    """What a screen reader says for the picture."""
    kind = _KINDS.get(artifact.style, "Line chart")
    start = f"{kind} of {artifact.y_label or 'values'} over {artifact.x_label or 'x'}: "
    return start + ", ".join(_range(artifact, label) for label in artifact.series)


def _range(artifact: Chart, label: str) -> str:
    known = [y for y in artifact.series[label] if y is not None]
    if not known:
        return f"{label} has no points"
    return f"{label} from {table.cell(min(known))} to {table.cell(max(known))}"


def _positions(artifact: Chart) -> tuple[list[float], bool]:
    """X as numbers, and whether they are places of categories."""
    if artifact.style == "line" and all(isinstance(x, (int, float)) for x in artifact.x):
        return [float(x) for x in artifact.x], False
    return [float(i) for i in range(len(artifact.x))], True


def _plot(axes: Any, artifact: Chart, xs: list[float]) -> None:
    count = max(1, len(artifact.series))
    width = 0.8 / count
    for i, ys in enumerate(artifact.series.values()):
        ink = colour(i)
        values = [math.nan if y is None else float(y) for y in ys]
        if artifact.style == "bar":
            places = [x + (i - (count - 1) / 2) * width for x in xs]
            axes.bar(places, values, width * 0.92, color=ink)
        else:
            style = {"color": ink, "marker": _MARKERS[i % len(_MARKERS)], "markersize": 4.5}
            for line, heights in _joined(artifact, values):
                axes.plot(xs, heights, linestyle=line, linewidth=1.8, **style)


def _joined(artifact: Chart, values: list[float]) -> list[tuple[str, list[float]]]:
    """The points that a line joins, then those that stand alone, with the line's style: a point
    that has a name is joined to no other.
    """
    if not artifact.names:
        return [("-", values)]
    named = [bool(name) for name in artifact.names]
    parts = [
        (line, [y if has is alone else math.nan for y, has in zip(values, named, strict=True)])
        for line, alone in (("-", False), ("none", True))
    ]
    return [(line, ys) for line, ys in parts if not all(map(math.isnan, ys))]


def _rows(artifact: Chart) -> list[int]:
    """The row of each span."""
    if artifact.style == "lanes":
        row = {label: i for i, label in enumerate(dict.fromkeys(artifact.x))}
        return [row[label] for label in artifact.x]
    return list(range(len(artifact.x)))


def _spans(axes: Any, artifact: Chart) -> None:
    """Bars from where each begins, the first on top; of lanes, those of one label in a row."""
    begins, lengths = (
        [math.nan if y is None else y for y in ys] for ys in artifact.series.values()
    )
    rows = _rows(artifact)
    labels = dict(zip(rows, artifact.x, strict=True))
    axes.barh(rows, lengths, 0.72, left=begins, color=colour(0))
    axes.set_yticks(list(labels), [one_line(table.cell(x)) for x in labels.values()])
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(ticks.number)


def _scale(axes: Any, artifact: Chart, xs: list[float], categories: bool) -> None:
    if artifact.log_x and not categories:
        axes.set_xscale("log", base=2)
    if artifact.log_y:
        axes.set_yscale("log")
    elif artifact.style == "bar":
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.yaxis.set_major_formatter(ticks.number)
    axes.xaxis.set_major_formatter(ticks.number)
    if categories:
        ticks.named(axes, xs, [one_line(table.cell(x)) for x in artifact.x])
    elif len(xs) <= ticks.MOST and all(map(float.is_integer, xs)):
        axes.set_xticks(xs, [table.cell(x) for x in artifact.x])
        axes.minorticks_off()
    elif artifact.log_x:
        axes.set_xticks(ticks.powers(xs))
        axes.minorticks_off()


def _dressed(axes: Any, artifact: Chart) -> None:
    _fill(axes, artifact)
    spans = artifact.is_timeline
    across, up = one_line(artifact.x_label), one_line(artifact.y_label)
    dress(axes, up if spans else across, "" if spans else up, "x" if spans else "y")


def dress(axes: Any, x_label: str, y_label: str, grid: str = "y") -> None:
    """Labels, ticks and a grid, in the page's colours."""
    axes.set_xlabel(x_label, color=INK)
    axes.set_ylabel(y_label, color=INK)
    axes.tick_params(colors=INK, which="both", length=3)
    axes.grid(True, axis=grid, color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)


def _size(artifact: Chart) -> tuple[float, float]:
    spans = artifact.is_timeline
    return (_SIZE[0], 0.7 + _SPAN * len(set(_rows(artifact)))) if spans else _SIZE


def _fill(axes: Any, artifact: Chart) -> None:
    if artifact.is_timeline:
        _spans(axes, artifact)
        return
    xs, categories = _positions(artifact)
    _plot(axes, artifact, xs)
    _scale(axes, artifact, xs, categories)


def _draw(fill: Callable[[Any], None], size: tuple[float, float], salt: str) -> tuple[str, Any]:
    """A figure of this size in inches, as Matplotlib writes it, and its axes; `fill` draws."""
    import io

    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings: Any = {"svg.hashsalt": salt, "svg.fonttype": "none", "font.size": 11}
    settings["text.parse_math"] = False  # a dollar sign is a dollar sign
    out = io.StringIO()
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph its own font lacks: the page's font is used
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
    svg = svg.replace(INK, "currentColor").replace(_GRID, "var(--tclab-grid)")
    for i in range(SERIES):
        svg = svg.replace(colour(i), f"var(--tclab-series-{i})")
    return svg


def picture(artifact: Chart, options: Options, *, narrow: bool = False) -> Html:
    """The chart as an SVG to stand in a page, as wide as its text or as a phone."""

    def fill(axes: Any) -> None:
        _dressed(axes, artifact)

    def marks(axes: Any) -> Html:
        named = artifact.style == "line" and artifact.names
        return dots.marks(artifact, _positions(artifact)[0], axes, options) if named else NOTHING

    title = artifact.title or "Chart"
    words = title, describe(artifact)
    return drawn(fill, _size(artifact), options, words, marks, narrow=narrow)


def drawn(
    fill: Callable[[Any], None],
    size: tuple[float, float],
    options: Options,
    words: tuple[str, str],
    marks: Callable[[Any], Html] = lambda _: NOTHING,
    *,
    narrow: bool = False,
) -> Html:
    """What `fill` draws on Matplotlib's axes, as an SVG to stand in a page: ids of its own, the
    page's colours and fonts. `size` is in inches; `words` are a title and a description for a
    screen reader. `marks` are elements over it, made when the axes have their places. With links
    it is no image: nobody would be told of what is in one. A `narrow` one is for phones.
    """
    size = (min(size[0], _NARROW), size[1]) if narrow else size
    options = options.under("narrow") if narrow else options
    svg, axes = _draw(fill, size, options.prefix or "tclab")
    over = marks(axes)
    box = re.search(r'viewBox="([\d. ]+)"', svg)
    title, description = map(one_line, words)
    return tag(
        "svg",
        tag("title", esc(title)),
        tag("desc", esc(description)),
        _inside(svg, options.id("svg")),
        over,
        xmlns="http://www.w3.org/2000/svg",
        class_="tclab-chart-narrow" if narrow else "tclab-chart",
        role="group" if "<a " in over else "img",
        viewBox=box[1] if box else "",
        aria_label=title,
    )


def on_each_screen(draw: Callable[[bool], Html]) -> Html:
    """Both drawings of a chart, the wide one and the `narrow`; a style sheet shows one."""
    return join(map(draw, (False, True)))


def _inside(svg: str, own: str) -> Html:
    """What Matplotlib drew, its ids under `own`: it escapes what it writes."""
    inner = svg[svg.index("<g id=") if "<g id=" in svg else svg.index(">") : svg.rindex("</svg>")]
    inner = re.sub(r"<!--.*?-->\n?", "", inner, flags=re.DOTALL)
    inner = re.sub(r"<style[^>]*>.*?</style>", "", inner, flags=re.DOTALL)
    inner = re.sub(r'\bid="', f'id="{own}-', inner)
    inner = re.sub(r'(xlink:)?href="#', f'href="#{own}-', inner)
    inner = re.sub(r"url\(#", f"url(#{own}-", inner)
    inner = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", inner)
    return Html(_recolour(inner).replace("`", "&#96;").replace("~", "&#126;").strip())


def legend(labels: Iterable[str]) -> Html:
    """The colours of series by their labels, in the order they were drawn."""
    items = [tag("li", _swatch(i % SERIES), esc(label)) for i, label in enumerate(labels)]
    return tag("ul", *items, class_="tclab-legend")


def _swatch(series: int) -> Html:
    return tag("span", class_="tclab-swatch", style=f"--c:var(--tclab-series-{series})")


def html(artifact: Chart, options: Options) -> Html:
    """Legend, picture, caption, and the data folded."""
    if not artifact.x or not artifact.series:
        return parts.note("No data.")
    both = on_each_screen(lambda narrow: picture(artifact, options, narrow=narrow))
    drawing = parts.scroll(both, artifact.title or "Chart", search=False)
    caption = parts.caption(artifact.caption)
    whole = replace(options, fold=False)  # it stands in a fold
    body = table.html(data(artifact), whole, dots.linked(artifact, options))
    numbers = parts.fold("The data as a table", body, search=False)
    named = NOTHING if artifact.is_timeline else legend(artifact.series)
    return join([named, drawing, caption, numbers])


def text(artifact: Chart) -> str:
    """The data as a table."""
    what = artifact.y_label and f"{artifact.y_label} over {artifact.x_label or 'x'}"
    head = columns.heading(artifact.title, what)
    caption = columns.paragraph(artifact.caption, rest="") if artifact.caption else ""
    body = table.text(replace(data(artifact), title=""))
    return columns.join(head, body, caption)
