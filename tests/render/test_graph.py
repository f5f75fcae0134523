from __future__ import annotations

import itertools
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from artifacts_by_hand import BARS, CHART, FILE, GRAPH, NODES, SPANS, node
from read_html import Page

from tclab import render
from tclab.errors import TclabError
from tclab.model import Chart, Graph
from tclab.render import coordinates, layout, picture, ticks
from tclab.render.kinds import chart
from tclab.render.options import Options

OPTIONS = Options(prefix="g", sources={FILE: "code"})


def chain(length):
    names = [f"n{i}" for i in range(length)]
    later = [node(b, "aten.relu.default", a, at=5) for a, b in itertools.pairwise(names)]
    return Graph("Chain", "chain", nodes=(node("n0", "x", op="placeholder"), *later))


def overlaps(found):
    """Pairs of boxes of one row that are closer than a column."""
    out = []
    for i, (x, y) in enumerate(found.centres):
        out += [
            (i, j) for j, (u, v) in enumerate(found.centres[:i]) if v == y and abs(u - x) < 0.99
        ]
    return out


def test_a_drawing_is_well_formed_and_labelled():
    root = ET.fromstring(picture.draw_svg(GRAPH, OPTIONS))
    assert root.get("viewBox") and root.get("aria-label") == "Forward graph: 6 nodes"
    texts = {t.text for t in root.iter() if t.tag.endswith("}text")}
    assert {"mm", "add.Tensor", "relu", "x", "output", "f32[8, s77]"} <= texts
    titles = [t.text for t in root.iter() if t.tag.endswith("}title")]
    assert f"mm = aten.mm.default(x, w) [call_function]\nf32[8, s77]\n{FILE}:5: y = x @ w" in titles


def test_nodes_link_to_their_lines():
    page = Page(picture.draw_svg(GRAPH, OPTIONS))
    assert page.links == ["#code-L5", "#code-L6", "#code-L7"]
    assert not Page(picture.draw_svg(GRAPH, Options(prefix="g"))).links


def test_every_node_and_edge_is_drawn():
    shown = layout.make_scene(NODES)
    assert sorted(b.node.name for b in shown.boxes) == sorted(n.name for n in NODES)
    named = {(shown.boxes[a].node.name, shown.boxes[b].node.name) for a, b in shown.links}
    assert named == {
        ("x", "mm"), ("w", "mm"), ("mm", "add"), ("add", "relu"), ("relu", "output"),
        ("mm", "output"),
    }  # fmt: skip


def test_edges_go_down_one_row_or_more():
    shown = layout.make_scene(NODES)
    assert all(shown.boxes[a].row < shown.boxes[b].row for a, b in shown.links)


def test_an_input_is_drawn_beside_each_row_that_reads_it():
    nodes = (*chain(5).nodes, node("far", "aten.add.Tensor", "n4", "n0"))
    again = [b for b in layout.make_scene(nodes).boxes if b.node.name == "n0"]
    assert [(b.row, b.is_repeat) for b in again] == [(0, False), (4, True)]


def test_many_outputs_are_marks():
    nodes = chain(6).nodes
    out = node("output", "output", *(n.name for n in nodes), op="output")
    shown = layout.make_scene((*nodes, out))
    assert all(b.node.op != "output" and b.returned for b in shown.boxes)
    html = render.html(Graph("g", "g", nodes=(*nodes, out)))
    assert "returned" in Page(html).text


def test_an_operation_on_inputs_alone_stands_above_its_reader():
    weight = node("weight", "weight", op="placeholder")
    transposed = node("t", "aten.t.default", "weight")
    nodes = (weight, transposed, *chain(9).nodes, node("mm", "aten.mm.default", "n8", "t"))
    row = {b.node.name: b.row for b in layout.make_scene(nodes).boxes}
    assert row["t"] == row["mm"] - 1 and row["weight"] == row["t"] - 1


def test_boxes_never_overlap():
    wide = tuple(node(f"i{i}", "x", op="placeholder") for i in range(7))
    reads = tuple(node(f"r{i}", "aten.add.Tensor", f"i{i}", f"i{(i * 3) % 7}") for i in range(7))
    joins = tuple(node(f"j{i}", "aten.cat", f"r{i}", f"r{6 - i}", f"i{i}") for i in range(7))
    shown = layout.make_scene((*wide, *reads, *joins))
    assert overlaps(layout.lay_out(shown)) == []


def test_strange_graphs_are_drawn():
    names = ("a", "a", "b")
    twice = tuple(node(n, "aten.add", "a", "b", "nowhere", n) for n in names)
    for nodes in ((), twice, (node("only", "x", op="placeholder"),)):
        Page(render.html(Graph("Strange", "strange", nodes=nodes), Options("s")))


@pytest.mark.parametrize(("length", "drawn", "folded", "checked"), [
    (120, True, False, 0), (121, True, True, 1), (401, False, False, 1),
])  # fmt: skip
def test_large_graphs_open_as_a_table(length, drawn, folded, checked):
    html = render.html(chain(length), Options("g"))
    page = Page(html)
    assert ("<svg" in html, "<details" in html) == (drawn, folded)
    assert ["checked" in r for r in page.named("input")].index(True) == checked
    assert drawn or "too many to draw" in page.text


@pytest.mark.parametrize("view", ["picture", "table", "text"])
def test_one_view_alone(view):
    html = render.html(GRAPH, Options("g", view=view))
    assert "radio" not in html
    assert {"picture": "<svg", "table": "<table", "text": "<pre"}[view] in html


def test_an_unknown_view_is_named():
    with pytest.raises(TclabError, match="no view 'sound'"):
        render.html(GRAPH, Options(view="sound"))


def test_operations_are_told_apart():
    targets = {
        "aten.addmm.default": "matrix", "torch.conv2d": "matrix", "aten._softmax.default": "reduce",
        "aten.sum.dim_IntList": "reduce", "aten.view.default": "view", "operator.getitem": "view",
        "aten.relu_.default": "call", "<built-in function add>": "call", "": "call",
    }  # fmt: skip
    assert {t: picture.op_class(node("n", t)) for t in targets} == targets
    assert picture.short_target(node("n", "prims.convert_element_type.default")) == (
        "convert_element_type"
    )
    assert picture.short_target(node("wrapped_sin_1", "torch__dynamo_utils_wrapped_sin")) == (
        "wrapped_sin"
    )
    assert picture.short_target(node("n", "<built-in method relu of type object>")) == "relu"
    assert picture.short_target(node("n", "torch.ops.mylib.scaled.default")) == "scaled"
    assert picture.short_target(node("n", "torch.ops.mylib.scaled.out")) == "scaled.out"
    assert picture.short_target(node("n", "torch.ops.higher_order.cond")) == "cond"


def test_positions_keep_gaps_and_stay_close():
    assert coordinates.solve_row([0, 5], [1, 1], [0, 1]) == [0, 5]
    assert coordinates.solve_row([0, 0], [1, 1], [0, 1]) == [-0.5, 0.5]
    assert coordinates.solve_row([0, 0, 9], [3, 1, 1], [0, 1, 1]) == [-0.25, 0.75, 9]


@pytest.mark.parametrize("artifact", [CHART, BARS, SPANS], ids=["lines", "bars", "spans"])
def test_a_chart_is_accessible_and_takes_the_pages_colours(artifact):
    svg = chart.draw_svg(artifact, OPTIONS)
    root = ET.fromstring(svg)
    assert root.get("role") == "img" and root.get("aria-label") == artifact.title
    assert [child.tag.rsplit("}")[-1] for child in list(root)[:2]] == ["title", "desc"]
    assert "var(--tclab-series-0)" in svg and "currentColor" in svg
    assert not {c for c in ("#000000", "#0203", "<style", "<!--", "DOCTYPE", "Date") if c in svg}
    assert all(i.startswith("g-svg-") for i in Page(svg).ids)


def labels(svg: str) -> list[str]:
    return re.findall(r"<text [^>]*>([^<]*)</text>", svg)


def test_ticks_are_round_numbers_in_units_that_people_use():
    """Sizes in bytes are powers of two: read in millions they are none."""
    sizes = [size / 1e6 for size in (2**21, 2**23, 2**25, 2**27)]
    svg = chart.draw_svg(Chart("C", x=sizes, series={"a": (1, 2, 3, 4)}, log_x=True), OPTIONS)
    assert {"2", "8", "32", "128"} <= set(labels(svg)) and "2.097" not in labels(svg)
    calls = Chart("C", x=(1, 2), series={"a": (9e3, 3e7)}, log_y=True)
    found = set(labels(chart.draw_svg(calls, OPTIONS)))
    assert {"10\xa0k", "100\xa0k", "1\xa0M", "10\xa0M"} <= found and not any(
        "e+" in t for t in found
    )
    assert [ticks.format_number(n) for n in (0, 0.25, 9999, 2.5e9)] == [
        "0",
        "0.25",
        "9,999",
        "2.5\xa0G",
    ]


def test_a_phone_gets_a_narrower_drawing_of_the_same():
    html = render.html(CHART, Options("c"))
    wide, narrow = re.findall(r'<svg [^>]*class="(tclab-chart\S*)"[^>]*viewBox="0 0 ([\d.]+)', html)
    assert (wide[0], narrow[0]) == ("tclab-chart", "tclab-chart-narrow")
    assert 300 < float(narrow[1]) < 340 < float(wide[1])
    ids = Page(html).ids
    assert len(ids) == len(set(ids))


def test_long_names_of_bars_stand_in_lines():
    names = ("pointwise chain, 256 MiB", "softmax, 256 MiB", "eight blocks, 4096 rows", "four")
    svg = chart.draw_svg(Chart("C", x=names, series={"a": (1, 2, 3, 4)}, style="bar"), OPTIONS)
    assert "pointwise chain, 256" in labels(svg) and "rotate(-30" not in svg


def test_spans_stand_one_under_the_other_from_begin_to_end():
    svg = chart.draw_svg(SPANS, OPTIONS)
    bars = re.findall(r'<path d="M ([\d.]+) ([\d.]+) *\nL ([\d.]+) [^"]*z\n?" clip-path', svg)
    (left, top, right), (begin, below, end) = (map(float, bar) for bar in bars)
    assert begin == pytest.approx(left + (right - left) * 1.5 / 4, abs=0.1)
    assert end - begin == pytest.approx((right - left) / 2, abs=0.1)
    assert top < below
    assert all(word in svg for word in (">all<", ">part<", ">seconds<", "Timeline of seconds"))
    assert "tclab-legend" not in render.html(SPANS, Options("s"))
    with pytest.raises(ValueError, match="spans are two series, not 1"):
        replace(SPANS, series={"begin": (0, 1)})


def test_lanes_have_a_row_for_each_label():
    label = SPANS.x[0]
    lanes = replace(SPANS, style="lanes", x=[label, label])
    svg = chart.draw_svg(lanes, OPTIONS)
    bars = re.findall(r'<path d="M [\d.]+ ([\d.]+) [^"]*z\n?" clip-path', svg)
    assert len(bars) == 2 and bars[0] == bars[1]
    assert labels(svg).count(label) == 1
    assert "tclab-legend" not in render.html(lanes, Options("s"))


def test_a_charts_numbers_are_there_as_a_table():
    text = Page(render.html(CHART, Options("c"))).text
    for part in ("batch", "compiled", "graphs", "2.5", "–", "The data as a table"):
        assert part in text
    assert "No data." in render.html(replace(CHART, x=(), series={}))


def test_a_chart_of_many_or_odd_points_is_drawn():
    odd = replace(
        CHART, x=(1, 2, 3), series={"_a": (1e-9, 1e12, None), "$b$": (None,) * 3}, log_y=True
    )
    many = replace(
        CHART, x=tuple(range(1, 40)), series={f"s{i}": tuple(range(1, 40)) for i in range(8)}
    )
    for artifact in (odd, many):
        ET.fromstring(chart.draw_svg(artifact, OPTIONS))
