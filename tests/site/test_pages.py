"""Every executable fence of every page, found by sybil and run by the engine of the build.

The build finds fences with `tclab.page.prose.fences`; sybil's own lexer is the second opinion.
A snippet that a page shows must have run, well, for what the page shows of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from mkdocs.utils.yaml import yaml_load
from sybil import Document, Region
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

from tclab import page
from tclab.page import blocks, book, state
from tclab.page.prose import references
from tclab.page.prose.text import in_folder
from tclab.page.prose.uses import Use

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {text.page.removeprefix("docs/"): text for text in in_folder(DOCS, ROOT)}

MEANT = re.compile(r"exec=|^\s*from tclab\.page import")
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


def test_the_navigation_has_every_page_once_and_nothing_else() -> None:
    with open(ROOT / "mkdocs.yml", encoding="utf-8") as file:
        navigation = yaml_load(file)["nav"]
    labs = [f"labs/{path.stem}.ipynb" for path in DOCS.glob("labs/lab*.py")]
    assert sorted(_listed(navigation)) == sorted([*PAGES, *labs])


def _listed(navigation) -> Iterator[str]:
    """The files that an entry of the navigation, or a list of them, leads to."""
    if isinstance(navigation, str):
        yield navigation
    else:
        entries = navigation.values() if isinstance(navigation, dict) else navigation
        for entry in entries:
            yield from _listed(entry)


def test_what_is_to_be_installed_is_there_to_install() -> None:
    """Each extra that a page, the README or a message names."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    files = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    texts = "".join(path.read_text(encoding="utf-8") for path in files)
    extras = set(re.findall(r"pip install (?:-e )?'[^'\[]*\[(\w+)\]'", texts))
    assert {"explain", "labs"} <= extras
    assert [name for name in extras if f"\n{name} = [" not in project] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_build_finds_the_same_fences(page: str) -> None:
    mine = [(f.line, f.code.strip()) for f in PAGES[page].fences if f.executed]
    assert mine == [(e.line, str(e.parsed).strip()) for e in examples(page)]


@pytest.mark.parametrize("page", PAGES)
def test_no_fence_meant_to_run_is_passed_over(page: str) -> None:
    """What opens an executable fence, or calls what only such a fence can, stands in a fence: one
    that runs, or one that quotes it. (What else is Python runs below, and could not call it.)
    """
    text = PAGES[page]
    meant = {number for number, line in text.lines if MEANT.search(line)}
    assert meant <= text.fenced
    assert {fence.line for fence in text.fences if not fence.executed}.isdisjoint(meant)


@pytest.mark.parametrize("page", PAGES)
def test_every_other_python_fence_runs(page: str) -> None:
    """A plain example in prose is a claim too: it must at least run on its own."""
    for example in examples(page, executed=False):
        code = compile(str(example.parsed), f"{page}:{example.line}", "exec", optimize=0)
        exec(code, {"__name__": "__example__"})


@pytest.mark.parametrize("page", PAGES)
def test_source_references_resolve(page: str) -> None:
    _, problems = references.link(PAGES[page])
    assert not problems, "\n".join(map(str, problems))


# --------------------------------------------------------------------------- what it shows


@pytest.mark.parametrize(("page", "number"), FENCES)
def test_fence(page: str, number: int, build: state.Build) -> None:
    example = examples(page)[number]
    evaluate(example)
    html = example.namespace["output"]
    assert html.strip()
    assert "/tmp/" not in html and str(ROOT) not in html and str(Path.home()) + "/" not in html
    (fence,) = (fence for fence in PAGES[page].fences if fence.line == example.line)
    for use in PAGES[page].uses:
        if fence.line < use.line < fence.end:
            _shows(html, use, build)


def _shows(html: str, use: Use, build: state.Build) -> None:
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
