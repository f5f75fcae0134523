"""Every executable fence of every page, found by sybil and run by the engine of the build.

The build finds fences with `tclab.page.prose.fences`; sybil's own lexer is the second opinion.
A snippet that a page shows must have run, well, for what the page shows of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from sybil import Document, Region
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

from tclab import page
from tclab.page import blocks, book, state
from tclab.page.prose import fences, references, uses

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))

#: Executable fences of each page. A fence that comes or goes is a change of the site.
EXPECTED = {
    "benchmarks/compile-time.md": 6,
    "benchmarks/systems.md": 3,
    "benchmarks/index.md": 9,
    "benchmarks/loses.md": 6,
    "benchmarks/models.md": 8,
    "benchmarks/pays.md": 3,
    "benchmarks/roof.md": 8,
    "beliefs/caches.md": 2,
    "beliefs/graphs.md": 3,
    "beliefs/index.md": 2,
    "beliefs/kernels.md": 4,
    "beliefs/recompiles.md": 2,
    "beliefs/the-call.md": 3,
    "beliefs/training.md": 2,
    "contributing.md": 1,
    "explain.md": 7,
    "explorer/bias-gelu.md": 2,
    "explorer/column-sum.md": 4,
    "explorer/cross-entropy.md": 2,
    "explorer/embedding.md": 2,
    "explorer/index.md": 1,
    "explorer/kernels.md": 22,
    "explorer/layer-norm.md": 2,
    "explorer/matmul-bias-relu.md": 2,
    "explorer/mlp.md": 2,
    "explorer/relu.md": 2,
    "explorer/softmax-cpu.md": 2,
    "explorer/softmax.md": 2,
    "explorer/transformer-block.md": 2,
    "first-steps.md": 7,
    "how-exact.md": 9,
    "how-this-site-is-made.md": 1,
    "index.md": 2,
    "labs/index.md": 0,
    "pipeline/aotautograd.md": 10,
    "pipeline/backends.md": 7,
    "pipeline/caches.md": 5,
    "pipeline/compiled-autograd.md": 4,
    "pipeline/cpp.md": 7,
    "pipeline/cuda-graphs.md": 6,
    "pipeline/dynamic-shapes.md": 8,
    "pipeline/dynamo.md": 11,
    "pipeline/graph-breaks.md": 20,
    "pipeline/guards.md": 17,
    "pipeline/inductor.md": 12,
    "pipeline/irs.md": 8,
    "pipeline/the-call.md": 9,
    "pipeline/triton.md": 16,
    "practice/find-out.md": 3,
    "practice/logs.md": 3,
    "practice/profiler.md": 1,
    "practice/upgrading.md": 1,
    "practice/wrong-result.md": 5,
    "reference/backends.md": 2,
    "reference/glossary.md": 0,
    "reference/graph-breaks.md": 2,
    "reference/guards.md": 3,
    "reference/index.md": 1,
    "reference/instructions.md": 2,
    "reference/logs.md": 3,
    "reference/operators.md": 3,
    "reference/settings.md": 7,
    "reference/source-map.md": 3,
    "practice/custom-operators.md": 6,
    "practice/export.md": 3,
    "practice/faster.md": 9,
    "practice/numerics.md": 8,
    "practice/several-gpus.md": 3,
    "targets.md": 11,
}

_INFO = re.compile(r"[ \t]*(?P<language>python|py)\b(?P<options>[^\n]*)\n")


class ExecutableFences:
    """A sybil parser: Python fences, whatever attributes follow the language."""

    def __init__(self, *, executed: bool) -> None:
        self.lexer = RawFencedCodeBlockLexer(_INFO)
        self.executed = executed

    def __call__(self, document: Document) -> Iterable[Region]:
        for region in self.lexer(document):
            if ("exec=" in region.lexemes["options"]) is self.executed:
                region.parsed = region.lexemes["source"]
                region.evaluator = evaluate
                yield region


def evaluate(example) -> None:
    """Run one fence as the build does."""
    page = Path(example.path).relative_to(ROOT).as_posix()
    block = blocks.Block(state.build().page(page), example.line)
    example.namespace["output"] = blocks.execute(str(example.parsed), block)


def examples(page: str, *, executed: bool = True) -> list:
    document = Document.parse(str(DOCS / page), ExecutableFences(executed=executed))
    return sorted(document.examples(), key=lambda example: example.line)


FENCES = [
    pytest.param(page, number, id=f"{page}:{example.line}", marks=pytest.mark.fence)
    for page in PAGES
    for number, example in enumerate(examples(page))
]


@pytest.fixture(scope="session")
def build() -> state.Build:
    """The site's book: what is stale runs here, as in a build."""
    return state.begin(book.open_book(ROOT, DOCS))


# --------------------------------------------------------------------------- what is there


def test_the_number_of_fences_on_each_page() -> None:
    assert {page: len(examples(page)) for page in PAGES} == EXPECTED


@pytest.mark.parametrize("page", PAGES)
def test_the_build_finds_the_same_fences(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    mine = [(f.line, f.code.strip()) for f in fences.find(text, page) if f.executed]
    assert mine == [(e.line, str(e.parsed).strip()) for e in examples(page)]


@pytest.mark.parametrize("page", PAGES)
def test_every_other_python_fence_runs(page: str) -> None:
    """A plain example in prose is a claim too: it must at least run on its own."""
    for example in examples(page, executed=False):
        code = compile(str(example.parsed), f"{page}:{example.line}", "exec")
        exec(code, {"__name__": "__example__"})


@pytest.mark.parametrize("page", PAGES)
def test_source_references_resolve(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    _, problems = references.link(text, page)
    assert not problems, "\n".join(map(str, problems))


# --------------------------------------------------------------------------- what it shows


@pytest.mark.parametrize(("page", "number"), FENCES)
def test_fence(page: str, number: int, build: state.Build) -> None:
    example = examples(page)[number]
    evaluate(example)
    html = example.namespace["output"]
    assert html.strip()
    assert "/tmp/" not in html and str(ROOT) not in html and str(Path.home()) + "/" not in html
    for use in uses.in_fence(_fence(page, example.line), f"docs/{page}"):
        _shows(html, use, build)


def _fence(page: str, line: int) -> fences.Fence:
    found = fences.find((DOCS / page).read_text(encoding="utf-8"), page)
    return next(fence for fence in found if fence.line == line)


def _shows(html: str, use: uses.Use, build: state.Build) -> None:
    """The chosen runs are good and not stale, and an output of one of them is stamped."""
    runs = build.book.runs[use.snippet]
    if use.function == "awaited" and not runs:
        assert "Not recorded yet" in html
        return
    assert runs and all(run.ok and run.snippet == use.snippet for run in runs)
    if use.function != "code":
        assert "tclab-stamp" in html


@pytest.mark.snippet
def test_every_snippet_has_a_run_to_show(build: state.Build) -> None:
    assert set(build.book.runs) == set(build.book.all)
    awaited = {use.snippet for use in build.book.uses if use.function == "awaited"}
    for name, runs in build.book.runs.items():
        assert runs or name in awaited, name
        for run in runs:
            assert run.artifacts or run.stdout or run.raised, name


def test_every_function_for_pages_is_told_to_who_writes_one() -> None:
    told = (DOCS / "contributing.md").read_text(encoding="utf-8")
    calls = re.findall(r"^\| `(\w+)\([^`]*\)` \|", told, re.MULTILINE)
    assert sorted(calls) == sorted(page.__all__)
