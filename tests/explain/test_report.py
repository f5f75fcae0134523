"""What a report says of two small files: annotations to the line, counts, JSON, HTML."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tclab.cli.explaining import summary as printed
from tclab.explain import ExplainRequest, explain_named
from tclab.model import (
    Annotated,
    Break,
    Breaks,
    Chain,
    Counts,
    FusedGroup,
    Kernel,
    KernelFacts,
    KernelRow,
    Listing,
    Problem,
    Report,
    Resources,
    SourceLine,
    TimedAnswer,
    TimedQuestion,
    rows_of_chains,
    rows_of_kernels,
)
from tclab.render import text as rendered
from tclab.render.kinds.table import cell_texts
from tclab.render.report import counts as words
from tclab.render.report import document, kernels
from tclab.render.report import words as report_words
from tclab.render.report.graph_symbols import graphs_of_symbols
from tclab.render.report.kernels import select_first_call
from tclab.render.viewer.panes import BARE


def source(report: Report, title: str) -> Annotated:
    (found,) = [s for s in report.sources if s.title == title]
    return found


def notes(report: Report, title: str) -> list[tuple[int, str, str]]:
    return [(n.line, n.label, n.text) for n in source(report, title).notes]


# --------------------------------------------------------------------------- the broken file


def test_counts_of_a_break_and_a_recompile(broken):
    assert broken.calls == ("f32[8], 3", "f32[8], 5")
    assert broken.counts.guards > 10
    assert replace(broken.counts, guards=0) == Counts(
        calls=2, breaks=1, skipped=0, graphs=2, recompiles=1, all_graphs=3, kernels=3,
        library_calls=0,
    )  # fmt: skip
    assert dict(words.table(broken.counts).rows) == {
        "calls": 2,
        "graph breaks": 1,
        "functions that run without compiling": 0,
        "graphs": 2,
        "recompiles": 1,
        "graphs, with those of recompiles": 3,
        "guards": broken.counts.guards,
        "kernels": 3,
        "library calls": 0,
    }


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
        (19, "specialised", "scale == 2; a value from before the break has size [2, 4]"),
    ]
    assert source(skipped, "count").compiled == {}
    assert skipped.counts.skipped == 1


def test_a_class_is_made_and_differentiated(skipped):
    assert skipped.remarks == ("An instance was made with Net().",)
    assert skipped.backward
    stages = [{pane.stage for pane in chain.panes} for chain in skipped.chains]
    assert all({"joint", "forward", "backward"} <= of for of in stages)


OPEN = """\
import torch


def f(x, y, z):
    return x.sin(), y.cos(), z.tan()


def example_inputs():
    one, same, other = torch.ones(2, 4), torch.ones(3), torch.ones(2, 8)
    return [(one, same, other), (torch.ones(5, 6), same, torch.ones(7, 8))]
"""


def test_a_size_of_which_everything_varies_is_not_called_specialised(write):
    """And of a size that another call left open in part, only what stayed fixed."""
    write("varies.py", OPEN)
    report = explain_named(ExplainRequest.parse("varies.py:f"))
    found = [(line, text) for line, label, text in notes(report, "f") if label == "specialised"]
    assert found == [(5, "y has size [3]; z has size [any, 8]")]


# --------------------------------------------------------------------------- JSON


def test_json_says_the_same_as_the_report(broken, skipped):
    for report in (broken, skipped):
        text = report.to_json()
        assert json.loads(text)["format"] == "tclab explain 5"
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


#: Lines of long panes: the page's script makes them, and so their anchors.
MADE_BY_THE_SCRIPT = re.compile(rf"-({'|'.join(sorted(BARE))})(-\d+)?-L\d+$")


@pytest.fixture(scope="module")
def html(broken):
    return document.html(broken)


def test_the_page_asks_nothing_of_any_host(html):
    read = Read(html)
    assert read.asked == []
    assert "url(" not in html and "@import" not in html
    assert "default-src 'none'" in html and read.scripts == 1


def test_ids_are_unique_and_links_within_the_page_lead_somewhere(html, skipped):
    for text in (html, document.html(skipped)):
        read = Read(text)
        assert len(read.ids) == len(set(read.ids))
        inner = {link[1:] for link in read.links if link.startswith("#")}
        made = {link for link in inner if MADE_BY_THE_SCRIPT.search(link)}
        assert inner - made and inner - made <= set(read.ids)


def test_markup_in_the_source_is_shown_as_text(html):
    assert "seen &lt;/script&gt; é" in html
    assert html.count("</script>") == html.count("<script")


def test_the_page_says_what_the_report_holds(html, broken):
    for part in (
        "1 graph break: the code is in 2 graphs. 1 recompile: 3 graphs in all.",
        "compiled again (0/1)",
        "GB0059",
        "Compile time",
        f"PyTorch {broken.provenance.torch}",
        "<!doctype html>",
    ):
        assert part in html
    assert len(html) < 1_500_000


def test_a_report_begins_with_the_verdict_and_the_reader_s_lines(html, broken):
    order = ["1 graph break:", f"PyTorch {broken.provenance.torch}", broken.provenance.date,
             "Avoid calling builtin", 'id="source"', 'id="kernels"', 'id="chains"',
             'id="breaks"', 'id="guards"']  # fmt: skip
    places = [html.index(part) for part in order]
    assert places == sorted(places)
    folds = re.findall(r'<details class="explain-fold"><summary><h2>(.*?)</h2>', html)
    assert folds[:5] == ["Graph breaks", "Recompiles", "Symbols", "Guards", "Compile time"]


def test_a_recompile_costs_the_seconds_of_this_compile(broken):
    (cost,) = [each.cost for each in broken.findings if each.name == "recompile"]
    mean = broken.compile_time.seconds / broken.compile_time.compiles
    assert 0 < cost.amount < broken.compile_time.seconds and cost.known == "measured"
    assert cost.amount != pytest.approx(mean, rel=1e-6)


def test_a_recompile_says_what_ends_it(html, broken):
    (note,) = [n for n in source(broken, "f").notes if n.label == "recompile"]
    assert note.detail.startswith("Compile with dynamic=True: a number is then a symbol. Tried:")
    assert note.detail in html and note.detail[:40] in rendered(broken)


def test_a_function_with_nothing_to_do_is_folded(html):
    assert "<summary>scaled, 1 note, nothing to do</summary>" in html
    assert "<h3>f</h3>" in html and "<h3>scaled</h3>" not in html


def test_symbols_name_their_graphs(html, broken):
    def graph(number: int, code: str) -> Chain:
        return Chain(str(number), "c", (Listing("d", "d", code, "python", "dynamo"),))

    chains = [graph(0, "s5: Sym(s5), s52"), graph(1, "x + s7"), graph(2, "s52 + s7")]
    assert graphs_of_symbols(["s5", "s52", "s7", "s52", "s9"], chains) == [
        "0",
        "0",
        "1, 2",
        "2",
        "",
    ]
    (symbol,) = broken.symbols
    row = html[html.index("Symbols of each graph") :]
    assert re.findall(r"<td>(.*?)</td>", row)[:2] == ["2", f"<code>{symbol.name}</code>"]


WORDS = """\
import torch

SEEN = []


def score(x, bias):
    y = x * 2
    print("mean")
    mean = y.mean().item()
    SEEN.append(len(SEEN))
    return torch.relu(y + bias) * mean


def example_inputs():
    return [(torch.ones(n, 4), torch.zeros(4)) for n in (8, 12)]
"""


def test_notes_are_words(write):
    write("words.py", WORDS)
    report = explain_named(ExplainRequest.parse("words.py:score"))
    said = [text for of in report.sources for n in of.notes for text in (n.text, n.detail)]
    assert "SEEN is empty" in " ".join(said)
    assert any("a value from before the break ==" in text for text in said)
    assert any("keep it a tensor, without .item()" in text for text in said)
    for riddle in ("stack", "__self__", "not SEEN", "<= 21474", "<="):
        assert not [text for text in said if riddle in text], riddle


def test_a_refusal_is_shown_first(broken):
    refused = replace(
        broken, target="NVIDIA H200", refusal=Problem("op, m.py:3", "why <not>", "do this")
    )
    html = document.html(refused)
    assert html.index("op, m.py:3: why &lt;not&gt;") < html.index('id="kernels"')
    text = rendered(refused)
    assert "refused for NVIDIA H200: op, m.py:3: why <not>" in text and "next: do this" in text
    assert broken.complete and not refused.complete


def test_stages_that_could_not_be_linked_are_told(broken):
    lacking = replace(broken, chains=(), fault="The stages could not be linked (KeyError: 1).")
    assert "(KeyError: 1)" in document.html(lacking) and "(KeyError: 1)" in rendered(lacking)
    assert not lacking.complete


# --------------------------------------------------------------------------- kernels


def test_each_kernel_has_its_lines_and_what_it_moves(broken):
    table = kernels.table(broken.kernels)
    rows = [dict(zip(table.columns, row)) for row in table.rows]
    assert [row["graph"] for row in rows] == [0, 1, 2]
    assert rows[0]["lines"] == "broken.py:7, 11" and rows[1]["lines"] == "broken.py:13"
    assert rows[0]["bytes moved"] == 8 * 4 * 2  # x in, y out: eight float32 each
    assert all(row["kind"] == "C++" and row["registers"] is None for row in rows)


def test_the_gradient_s_kernels_say_so(skipped):
    kinds = {row[kernels.COLUMNS.index("kind")] for row in kernels.table(skipped.kernels).rows}
    assert "library call" in kinds and any(kind.endswith(", backward") for kind in kinds)


def test_columns_that_say_nothing_are_left_out(broken):
    shown = kernels.compact_table(broken.kernels).columns
    assert not {"registers", "spilled bytes"} & set(shown)
    assert {"kernel", "lines", "bytes moved", "graph"} <= set(shown)
    assert "graph" not in kernels.compact_table(broken.kernels[:1]).columns


def test_the_rows_of_a_call_are_added_up():
    each = KernelRow("k", bytes=2**20, operations=2 * 10**9, runs=3, times=2, graph=0)
    rows = (each, KernelRow("other", bytes=None, operations=0, runs=1, graph=0))
    assert (each.launches, each.call_bytes, each.call_operations) == (6, 3 * 2**20, 6 * 10**9)
    compact = kernels.compact_table(rows)
    assert cell_texts(compact)[0] == ["k", "", "3 MiB", "6 G", "6", "Triton"]
    assert cell_texts(kernels.add_up(rows, compact))[0] == [
        "total, 1 of unknown bytes left out", "–", "3 MiB", "6 G", "7", "–"
    ]  # fmt: skip
    assert kernels.add_up(rows[:1], compact) is None
    unlikely = replace(each, open=(TimedAnswer(TimedQuestion("pad", "mm", "m.py:1"), "yes"),))
    assert kernels.add_up((each, unlikely), compact) is None


def test_a_choice_that_timings_do_not_decide_is_named():
    doubt = TimedQuestion("pad", "mm of [8, 30]", "m.py:3", "a", "it took 1.05 (0.90 to 1.20)")
    report = Report(title="f", name="report", timed=(doubt, TimedQuestion("pad", "mm", "m.py:4")))
    _, said = report_words.remarks(report)
    assert said == "pad: mm of [8, 30], m.py:3 stays open: it took 1.05 (0.90 to 1.20)."


def test_a_kernel_of_several_groups_moves_what_they_move():
    groups = FusedGroup(("op0",), 1024), FusedGroup(("op1",)), FusedGroup(("op2",), 8)
    facts = KernelFacts(fused=groups, resources=Resources(16, 0))
    (row,) = rows_of_kernels([Kernel(facts=facts, kernel_name="k")])
    assert (row.bytes, row.spilled, row.registers, row.instructions) == (1032, 0, 16, None)
    (row,) = rows_of_kernels([Kernel(facts=KernelFacts(fused=groups[1:2]))])
    assert (row.bytes, row.spilled, row.registers) == (None, None, None)


def test_what_layer_after_layer_calls_is_told_once():
    def called(line: int) -> Kernel:
        place = (SourceLine("m.py", line, "y = w(x)"),)
        facts = KernelFacts(fused=(FusedGroup(("op0",), 8),), calls=1)
        return Kernel(
            kernel_name="extern_kernels.mm", category="extern", stage="wrapper",
            source_lines=place, facts=facts,
        )  # fmt: skip

    layer = Kernel(kernel_name="triton_0", stage="kernel", facts=KernelFacts(calls=2))
    chain = Chain(panes=(layer, called(3), called(4), called(3)))
    rows = rows_of_chains([chain, chain])
    assert [(row.name, row.times, row.bytes) for row in rows[:3]] == [
        ("triton_0", 2, None), ("extern_kernels.mm", 2, 16), ("extern_kernels.mm", 1, 8),
    ]  # fmt: skip
    assert [kernels.pane_id(row) for row in rows[:3]] == ["kernel", "wrapper", "wrapper-2"]
    assert [row.graph for row in rows] == [0, 0, 0, 1, 1, 1]
    assert "times" in kernels.compact_table(rows).columns
    assert "times" not in kernels.compact_table(rows[2:3]).columns


# --------------------------------------------------------------------------- in words


def counted(
    graphs_of_symbols: int, breaks: int, skips: int, recompiles: int, all_graphs: int
) -> str:
    items = [Break("why")] * breaks + [Break("why", skipped=True)] * skips
    counts = Counts(recompiles=recompiles, all_graphs=all_graphs)
    return words.summary(
        Report(counts=counts, breaks=Breaks("", "", tuple(items), graphs_of_symbols))
    )


def test_counts_in_words():
    assert counted(1, 0, 0, 0, 1) == "No graph break: the code is in one graph."
    assert counted(1, 1, 0, 0, 1) == "1 graph break: what was compiled is one graph."
    assert counted(3, 2, 0, 0, 3) == "2 graph breaks: the code is in 3 graphs."
    assert counted(0, 0, 1, 0, 0) == "Nothing was compiled. 1 function runs without compiling."
    assert counted(0, 0, 0, 0, 0) == "Nothing was compiled."


def test_recompiles_do_not_make_breaks():
    """More graphs, since there were recompiles, and still no break."""
    said = "No graph break: the code is in one graph. 2 recompiles: 3 graphs in all."
    assert counted(1, 0, 0, 2, 3) == said


# --------------------------------------------------------------------------- terminal


def test_text_has_the_annotated_source(broken):
    text = rendered(broken)
    assert rendered(source(broken, "f")) in text
    assert "│     print(" in text and "^ graph break: Failed to trace builtin operator" in text


def said(report, path, capsys) -> str:
    path.write_text("x" * 2_500_000)
    printed.print_summary(report, path)
    return capsys.readouterr().out


def test_the_summary_has_kernels_breaks_with_their_fix_and_the_file(broken, tmp_path, capsys):
    out = said(broken, tmp_path / "x.html", capsys)
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "1 graph break: the code is in 2 graphs. 1 recompile: 3 graphs in all." in lines
    assert any(line.startswith("cpp_fused_add_mul_0 broken.py:7, 11 64 bytes ") for line in lines)
    at = lines.index('graph break broken.py:12 print("seen </script> \\u00e9")')
    assert lines[at + 1] == "Failed to trace builtin operator [GB0059]"
    assert lines[at + 2].startswith("fix: Avoid calling builtin `print`")
    at = lines.index("recompile broken.py:10")
    assert re.fullmatch(r"f compiled again \(0/1\): n == 3 \(\S+ s once, measured\)", lines[at + 1])
    assert lines[at + 2].startswith("fix: Compile with dynamic=True: a number is then a symbol.")
    assert lines[-1].endswith("x.html, 2.5 MB")


RANGE = """import torch

def f():
    return torch.arange(11) * 1_000_000_000
"""


def test_a_known_fault_is_said_in_the_terminal_the_page_and_the_json(folder, tmp_path, capsys):
    (folder / "range.py").write_text(RANGE)
    report = explain_named(ExplainRequest("range.py:f"))
    (advice,) = report.advisories
    assert advice.issue == "pytorch#175966"
    text = f"{advice.harm}, {advice.issue}: {advice.title}, perhaps, in "
    out = " ".join(said(report, tmp_path / "x.html", capsys).split())
    assert f"known fault of this PyTorch {text}" in out and f"fix: {advice.workaround}" in out
    page = document.html(report)
    assert "<strong>known fault of this PyTorch</strong>" in page and advice.title in page
    assert Report.from_json(report.to_json()).advisories == (advice,)


def test_the_summary_is_bounded(broken, tmp_path, capsys):
    (found,) = [each for each in broken.findings if each.name == "graph-break"]
    report = replace(broken, findings=(found,) * 30, kernels=broken.kernels * 30)
    out = said(report, tmp_path / "x.html", capsys)
    assert "… and 10 more findings in the report" in out
    kernels = len(select_first_call(report.kernels))
    assert f"… and {kernels - 20} more kernels in the report" in out and kernels > 20
    assert out.count("graph break broken.py") == 20


def test_warnings_of_others_come_last_and_on_stderr(broken, tmp_path, capsys):
    path = tmp_path / "x.html"
    path.write_text("x")
    printed.print_summary(replace(broken, warnings=("torch/x.py:1: UserWarning: no",)), path)
    out, err = capsys.readouterr()
    assert "UserWarning" not in out
    assert err == "warning from torch/x.py:1: UserWarning: no\n"
    assert "torch/x.py:1: UserWarning: no" in document.html(replace(broken, warnings=(err,)))


ROTATES = """\
import torch


def rotate(x, turn):
    turned = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * turn
    return torch.view_as_real(turned).flatten(-2).relu()


def example_inputs():
    return torch.randn(6, 16), torch.polar(torch.ones(6, 8), torch.randn(6, 8))
"""


def test_a_product_of_complex_numbers_is_found_at_its_line(write):
    write("rotates.py", ROTATES)
    report = explain_named(ExplainRequest.parse("rotates.py:rotate"))
    (found,) = [each for each in report.findings if each.name == "complex-numbers"]
    assert [place.line for place in found.places] == [5]
    assert found.what.endswith("own: mul")
