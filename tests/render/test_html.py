from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from artifacts_by_hand import (
    ARTIFACTS,
    BREAKS,
    FILE,
    GRAPH,
    GUARDS,
    KERNEL,
    LISTING,
    LONG,
    NO_BREAKS,
    RUN,
    SNIPPET,
    SOURCE,
    TABLE,
)
from read_html import Page

from tclab import model, render
from tclab.errors import TclabError
from tclab.render import highlight, kinds
from tclab.render.options import Options, commit_url

SOURCES = {FILE: "code"}


def whole_page():
    pieces = [
        render.source(SNIPPET, Options("code")),
        render.run(RUN, Options("a", sources=SOURCES)),
    ]
    recorded = replace(RUN, environment="h200-torch2.11")
    return "".join([*pieces, render.run(recorded, Options("b", sources=SOURCES))])


def test_every_artifact_kind_has_both_renderers():
    wanted = {k for k, c in model.KINDS.items() if issubclass(c, model.Artifact)}
    assert wanted == set(kinds.RENDERERS)
    for module in map(kinds.renderer, kinds.RENDERERS):
        assert callable(module.html) and callable(module.text)
    assert {a.kind for a in ARTIFACTS} == wanted, "each kind has one in artifacts_by_hand.py"


def test_what_is_no_artifact_is_named():
    with pytest.raises(TclabError, match="no renderer for"):
        render.html(model.Artifact())


def test_ids_are_unique_in_a_page():
    ids = Counter(Page(whole_page()).ids)
    assert [i for i, n in ids.items() if n > 1] == []
    assert all(i.startswith(("a-", "b-", "code-")) for i in ids)


def test_links_within_the_page_lead_somewhere():
    page = Page(whole_page())
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert {"code-L5", "code-L6", "code-L7"} <= inner <= set(page.ids)
    labels = {str(a["for"]) for a in page.named("label") if "for" in a}
    assert labels <= set(page.ids)


def test_lines_that_are_not_on_the_page_are_not_linked():
    page = Page(render.run(RUN, Options("a")))
    lines = [link[1:] for link in page.links if re.search(r"-L\d+$", link)]
    assert set(lines) <= set(page.ids)  # a chain's lines, which link to each other
    assert not [line for line in lines if not line.startswith(("a-chain-", "a-report-"))]
    assert f"{FILE}:6" in page.text


def test_lines_of_pytorch_link_to_the_commit():
    at = model.SourceLine("torch/nn/functional.py", 12)
    graph = replace(GRAPH, nodes=(replace(GRAPH.nodes[2], source=at),))
    git = RUN.provenance.torch_git
    assert commit_url(git, at.file, 12) in Page(render.figure(graph, RUN)).links
    assert commit_url("not a hash") == ""


def test_source_lines_have_anchors_and_text():
    page = Page(render.source(SNIPPET, Options("s")))
    assert page.ids == [f"s-L{n}" for n in range(1, 8)]
    assert page.text == SOURCE
    part = Page(render.source(SNIPPET, Options("s"), lines=(4, 6)))
    assert part.ids == ["s-L4", "s-L5", "s-L6"]
    assert part.text == "def f(x, w):\n    y = x @ w\n    y = y + 1\n"


def test_keys_of_lines_are_the_chain_s_alone():
    """What links lines is not written beside each line: only a chain has the script for it."""
    assert KERNEL.links and GRAPH.nodes[3].keys
    for artifact in (KERNEL, GRAPH):
        html = render.html(artifact, Options("k"))
        assert "fx:" not in html and "data-keys" not in html


def test_long_listings_fold_and_say_how_long():
    html = render.html(LONG, Options("k"))
    assert "60 lines of C++" in Page(html).text
    assert "<details" in html
    assert "<details" not in render.html(LONG, Options("k", fold=False))
    assert "<details" in render.html(LISTING, Options("k", fold=True))


def test_long_tables_fold_and_are_printed_all_the_same():
    row = TABLE.rows[0]
    short, long = (replace(TABLE, rows=(row,) * count) for count in (15, 16))
    assert "<details" not in render.html(short)
    html = render.html(long)
    assert '<details class="tclab-fold tclab-printed"><summary>16 rows</summary>' in html
    assert "<details" not in render.html(long, Options("t", fold=False))
    assert html.index("</details>") < html.index(TABLE.caption)  # what it shows stays in sight


def test_paper_gets_a_folded_listing_of_a_page_and_no_longer_one():
    lines = [f"x{n} = {n}\n" for n in range(60)]
    page, more = (replace(LISTING, code="".join(lines[:count])) for count in (40, 41))
    assert 'class="tclab-fold tclab-printed"><summary>40 lines' in render.html(page)
    assert 'class="tclab-fold"><summary>41 lines' in render.html(more)


@pytest.mark.parametrize("language", ["python", "cpp", "llvm", "mlir", "ttgir", "ptx", "sass", "?"])
@pytest.mark.parametrize(
    "code", ["", "\n", "a", "a\n", "\n\na\n\n", "x = '''a\nb'''\n", "%0 @ é\n"]
)
def test_highlighting_keeps_every_line(language, code):
    expected = code.removesuffix("\n").split("\n") if code not in ("", "\n") else [""]
    assert [Page(h).text for h in highlight.lines(code, language)] == expected


def test_no_breaks_is_said_plainly():
    assert "No graph breaks: one graph." in Page(render.html(NO_BREAKS)).text
    page = Page(render.html(BREAKS, Options(sources=SOURCES)))
    assert "2 graph breaks, 2 graphs." in page.text
    assert any(link.endswith("/gb/gb0059.html") for link in page.links)
    assert "skipped" in page.text


def test_guards_are_sorted_and_counted():
    text = Page(render.html(GUARDS)).text
    assert text.index("G['a']") < text.index("G['torch']") < text.index("check_tensor")
    assert "ID_MATCH 2" in text and "TENSOR_MATCH 1" in text


def test_what_was_counted_has_no_decimals():
    rows = (("candidates", 20), ("slowest", 8.262), ("library", 1.0), ("all", 12345))
    table = model.Table("T", "t", ("what", "count"), rows, formats=("", ",.2f"))
    assert [text for _, text in kinds.table.cell_texts(table)] == ["20", "8.26", "1.00", "12,345"]


def test_a_text_that_is_a_python_file_has_its_colours():
    code = 'def f(x):\n    return "a"\n'
    file = render.html(model.Text("pkg/model.py", "model", code))
    assert '<span class="k">def</span>' in file and Page(file).text.endswith(code)
    assert "<span class=" not in render.html(model.Text("pkg/model.txt", "model", code))


def test_cells_of_a_table():
    html = render.html(TABLE)
    text = Page(html).text
    assert "0.25" in text and "0.06" in text and "0.0571" not in text
    assert "yes" in text and "–" in text and "Median of 100 calls." in text
    wrong = replace(TABLE, formats=("", "", "zzz", ""))
    with pytest.raises(TclabError, match="format 'zzz' does not fit"):
        render.html(wrong)


def test_tabs_need_no_script():
    page = Page(render.html(GRAPH, Options("g")))
    radios = page.named("input")
    assert [r["type"] for r in radios] == ["radio"] * 3
    assert ["checked" in r for r in radios] == [True, False, False]
    assert len({r["name"] for r in radios}) == 1
    assert "<script" not in render.html(GRAPH, Options("g"))


def test_a_stamp_says_what_made_the_run():
    page = Page(render.stamp(RUN))
    for part in ("PyTorch 2.13.0+cpu (cf30153)", "Triton 3.7.1", "EPYC", "2026-11-20", "0.7 s"):
        assert part in page.text
    assert page.links == [commit_url(RUN.provenance.torch_git)]
    gpu = replace(RUN.provenance, gpu="NVIDIA H200", cuda="12.8")
    recorded = replace(RUN, provenance=gpu, environment="h200-torch2.11", seconds=12.3)
    text = Page(render.stamp(recorded)).text
    assert "NVIDIA H200" in text and "EPYC" not in text and "12 s" in text
    assert "recorded as h200-torch2.11" in text


def test_a_stamp_says_where_else_the_same_was_shown():
    def on(gpu, environment):
        return replace(RUN, provenance=replace(RUN.provenance, gpu=gpu), environment=environment)

    h200, h100 = on("NVIDIA H200", "h200-torch2.13"), on("NVIDIA H100", "here")
    recorded, here = Page(render.stamp(h200, h100)).text, Page(render.stamp(h100, h200)).text
    assert "the same on PyTorch 2.13.0, NVIDIA H100, run by this build" in recorded
    assert "the same on PyTorch 2.13.0, NVIDIA H200, recorded 2026-11-20" in here


def test_a_failed_run_says_so():
    failure = model.Failure("raised", "ValueError: x", model.SourceLine(FILE, 6), "Traceback: <x>")
    failed = replace(RUN, failure=failure)
    assert f"{FILE}:6: raised: ValueError: x" in Page(render.run(failed, Options("r"))).text
    assert f"{FILE}:6: raised: ValueError: x" in render.run_text(failed)


def test_no_request_leaves_the_site():
    page = Page(whole_page())
    names = {name for _, attrs in page.tags for name in attrs}
    assert not names & {"src", "srcset", "data", "poster", "action"}
    for asset in (render.css(), render.js()):
        assert "http" not in asset and "@import" not in asset and "url(" not in asset


PROGRAM = """
import sys
sys.path.insert(0, {here!r})
from test_html import whole_page
from tclab import render
import artifacts_by_hand
shown = whole_page() + render.version() + render.run_text(artifacts_by_hand.RUN)
sys.stdout.buffer.write(shown.encode())
"""


def _in_a_process(program, seed):
    environment = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True
    )
    return done.stdout


def test_the_same_input_gives_the_same_bytes():
    program = PROGRAM.format(here=str(Path(__file__).parent))
    first, second = _in_a_process(program, "1"), _in_a_process(program, "2")
    assert first == second
    assert len(first) > 50_000
    assert whole_page() == whole_page()


LAZY = """
import sys
sys.path.insert(0, {here!r})
import artifacts_by_hand as examples
from tclab import render
for artifact in examples.ARTIFACTS:
    render.text(artifact)
render.run_text(examples.RUN)
late = [m for m in ("torch", "pygments", "igraph", "matplotlib", "numpy") if m in sys.modules]
for artifact in examples.ARTIFACTS:
    if artifact.kind not in ("chart", "memory"):
        render.html(artifact, render.Options("p", view="table"))
late += [m for m in ("torch", "matplotlib.figure", "igraph") if m in sys.modules]
render.run(examples.RUN, render.Options("r"))
late += [m for m in ("torch", "tclab.capturing", "tclab.site.engine.schedule") if m in sys.modules]
print(late)
"""


def test_libraries_come_only_when_needed_and_torch_never():
    assert _in_a_process(LAZY.format(here=str(Path(__file__).parent)), "0").split() == [b"[]"]


def test_the_version_follows_the_code(tmp_path, monkeypatch):
    before = render.version()
    assert len(before) == 16
    monkeypatch.setattr(render, "_installed_version", lambda package: "0")
    render.version.cache_clear()
    assert render.version() != before
    render.version.cache_clear()


def test_options_make_ids():
    assert Options(prefix="a").for_part("b c", 3).id("L1") == "a-b-c-3-L1"
