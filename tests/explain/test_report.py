"""What a report says of two small files: annotations to the line, counts, JSON, HTML."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from tclab.cli import explain as command
from tclab.explain import Report, page
from tclab.model import Annotated
from tclab.render import text as rendered


def source(report: Report, title: str) -> Annotated:
    (found,) = [s for s in report.sources if s.title == title]
    return found


def notes(report: Report, title: str) -> list[tuple[int, str, str]]:
    return [(n.line, n.label, n.text) for n in source(report, title).notes]


def counts(report: Report) -> dict[str, int]:
    return dict(report.summary.rows)


# --------------------------------------------------------------------------- the broken file


def test_counts_of_a_break_and_a_recompile(broken):
    assert broken.calls == ("f32[8], 3", "f32[8], 5")
    found = counts(broken)
    assert found.pop("guards") > 10
    assert found == {
        "calls": 2, "graphs of distinct code": 2, "graphs with recompiles": 3, "graph breaks": 1,
        "skipped frames": 0, "recompiles": 1, "generated kernels": 3, "library calls": 0,
    }  # fmt: skip


def test_annotations_of_the_broken_function(broken):
    assert [s.title for s in broken.sources] == ["f", "scaled"]
    assert {s.filename for s in broken.sources} == {"broken.py"}
    assert notes(broken, "scaled") == [(7, "specialised", "x has size [8]; LIMIT == 4.0")]
    found = notes(broken, "f")
    symbol = next(s.name for s in broken.symbols if s.source == "L['n']")
    assert found == [
        (10, "recompile", "f compiled again (0/1): n == 3"),
        (11, "specialised", "n == 3"),
        (11, "dynamic", f"n may vary: it is {symbol} in the graph"),
        (12, "graph break", "Failed to trace builtin operator [GB0059]"),
        (13, "specialised", "y has size [8]"),
    ]


def test_lines_know_their_graphs(broken):
    whole = source(broken, "f")
    assert whole.code.startswith("def f(x, n):\n") and whole.first_line == 10
    assert whole.compiled == {2: ("0", "2"), 4: ("1",)}  # the break is in no graph
    assert source(broken, "scaled").compiled == {2: ("0", "2")}


def test_each_graph_has_its_chain(broken):
    assert [chain.compile_id for chain in broken.chains] == ["0/0", "1/0", "0/1"]
    for chain in broken.chains:
        assert {"python", "dynamo", "forward", "cpp"} <= {pane.stage for pane in chain.panes}
    assert broken.remarks == ()


# --------------------------------------------------------------------------- the skipped file


def test_annotations_of_a_skipped_frame(skipped):
    reason = "Failed to trace builtin operator"
    hidden = f"the frame runs without compiling: {reason}; frame skipped: graph break in loop"
    assert notes(skipped, "count") == [
        (8, "graph break", f"{reason} [GB0059]"),
        (8, "skipped", f"{hidden} [GB0059]"),
    ]
    assert notes(skipped, "Net.forward") == [
        (17, "specialised", "x has size [2, 4]"),
        (19, "graph break", f"in count, line 8: {reason}"),
        (19, "specialised", "scale == 2; a value on the stack has size [2, 4]"),
    ]
    assert source(skipped, "count").compiled == {}
    assert counts(skipped)["skipped frames"] == 1


def test_a_class_is_made_and_differentiated(skipped):
    assert skipped.remarks == ("An instance was made with Net().",)
    assert skipped.backward
    stages = [{pane.stage for pane in chain.panes} for chain in skipped.chains]
    assert all({"joint", "forward", "backward"} <= of for of in stages)


# --------------------------------------------------------------------------- JSON


def test_json_says_the_same_as_the_report(broken, skipped):
    for report in (broken, skipped):
        text = report.to_json()
        assert json.loads(text)["format"] == "tclab explain 2"
        assert Report.from_json(text) == report
    with pytest.raises(ValueError, match="not a report"):
        Report.from_json("{}")


def test_no_place_on_this_machine_is_told(broken, files):
    text = broken.to_json()
    assert str(files) not in text and files.name not in text


# --------------------------------------------------------------------------- HTML


class Read(HTMLParser):
    """Ids, links, text, and what would be asked of a host."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.asked: list[str] = []
        self.open: list[str] = []
        self.scripts = 0
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        if tag == "a":
            self.links.append(values.get("href") or "")
        self.scripts += tag == "script" and values.get("type") is None
        for name in ("src", "srcset", "data", "poster", "action"):
            if name in values:
                self.asked.append(f"{tag} {name}={values[name]}")
        if tag == "link":
            self.asked += [h for h in [values.get("href") or ""] if not h.startswith("data:")]


@pytest.fixture(scope="module")
def html(broken):
    return page.html(broken)


def test_the_page_asks_nothing_of_any_host(html):
    read = Read(html)
    assert read.asked == []
    assert "url(" not in html and "@import" not in html
    assert "default-src 'none'" in html and read.scripts == 1


def test_ids_are_unique_and_links_within_the_page_lead_somewhere(html, skipped):
    for text in (html, page.html(skipped)):
        read = Read(text)
        assert len(read.ids) == len(set(read.ids))
        inner = {link[1:] for link in read.links if link.startswith("#")}
        assert inner and inner <= set(read.ids)


def test_markup_in_the_source_is_shown_as_text(html):
    assert "seen &lt;/script&gt; é" in html
    assert html.count("</script>") == html.count("<script")


def test_the_page_says_what_the_report_holds(html, broken):
    for part in ("graphs of distinct code", "compiled again (0/1)", "GB0059", "Compile time",
                 f"PyTorch {broken.provenance.torch}", "<!doctype html>"):  # fmt: skip
        assert part in html
    assert len(html) < 1_500_000


def test_a_refusal_is_shown_first(broken):
    from dataclasses import replace

    refused = replace(broken, target="NVIDIA H200", refusal=("op, m.py:3", "why <not>", "do this"))
    html = page.html(refused)
    assert html.index("op, m.py:3: why &lt;not&gt;") < html.index('id="summary"')
    text = page.text(refused)
    assert "refused for NVIDIA H200: op, m.py:3: why <not>" in text and "next: do this" in text


# --------------------------------------------------------------------------- terminal


def test_text_has_the_annotated_source(broken):
    text = page.text(broken)
    assert rendered(source(broken, "f")) in text
    assert "│     print(" in text and "^ graph break: Failed to trace builtin operator" in text


def test_the_summary_names_breaks_and_the_file(broken, tmp_path, capsys):
    path = tmp_path / "x.html"
    path.write_text("x" * 2_500_000)
    command.print_summary(broken, path)
    out = capsys.readouterr().out
    assert "1  graph breaks" in " ".join(out.split(" ")) or "graph breaks" in out
    assert "graph break broken.py:12  Failed to trace builtin operator" in out
    assert "recompile broken.py:10  f compiled again (0/1): n == 3" in out
    assert "2.5 MB" in out
