"""Every executable fence of every page, found by sybil and run by the engine of the build.

The build finds fences with `pages.prose.fences`; sybil's own lexer is the second opinion.
A snippet that a page shows must have run, well, for what the page shows of it.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from mkdocs.utils.yaml import yaml_load
from sybil import Document, Region
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

from tclab.site import pages as page
from tclab.site.pages import block_runner, book, state
from tclab.site.pages.one_page import rules
from tclab.site.pages.prose import references
from tclab.site.pages.prose.blocks import FUNCTIONS, Call
from tclab.site.pages.prose.text import read_pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {text.page.removeprefix("docs/"): text for text in read_pages(DOCS, ROOT)}

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
    text = PAGES[Path(example.path).relative_to(DOCS).as_posix()]
    (block,) = (block for block in text.blocks if block.line == example.line)
    example.namespace["output"] = block_runner.execute_block(block, state.build().page(text.page))


@functools.cache
def examples(page: str, *, executed: bool = True) -> list:
    document = Document.parse(str(DOCS / page), ExecutableFences(executed=executed))
    return sorted(document.examples(), key=lambda example: example.line)


#: As the build finds them: sybil would read each page again, in each process that collects tests.
FENCES = [
    pytest.param(page, number, id=f"{page}:{fence.line}", marks=pytest.mark.fence)
    for page, text in PAGES.items()
    for number, fence in enumerate(fence for fence in text.fences if fence.is_executed)
]


@pytest.fixture(scope="session")
def build() -> state.Build:
    """The site's book: what is stale runs here, as in a build."""
    return state.begin_build(book.open_book(ROOT, DOCS))


# --------------------------------------------------------------------------- what is there


def test_the_navigation_has_every_page_once_and_nothing_else() -> None:
    with open(ROOT / "mkdocs.yml", encoding="utf-8") as file:
        navigation = yaml_load(file)["nav"]
    labs = [f"labs/{path.stem}.ipynb" for path in DOCS.glob("labs/lab*.py")]
    assert sorted(_listed(navigation)) == sorted([*PAGES, *labs])


def _listed(navigation) -> Iterator[str]:
    """Yield the files that an entry of the navigation, or a list of them, leads to."""
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


def test_the_build_finds_the_same_fences() -> None:
    for name, text in PAGES.items():
        mine = [(f.line, f.code.strip()) for f in text.fences if f.is_executed]
        assert mine == [(e.line, str(e.parsed).strip()) for e in examples(name)], name


def test_every_page_keeps_the_rules() -> None:
    """Those that `make page` holds: fences, headings, chapters, typed numbers, strong words."""
    problems = [problem for text in PAGES.values() for problem in rules.text_problems(text)]
    assert problems == [], "\n".join(map(str, problems))


def test_every_other_python_fence_runs() -> None:
    """A plain example in prose is a claim too: it must at least run on its own."""
    for name in PAGES:
        for example in examples(name, executed=False):
            code = compile(str(example.parsed), f"{name}:{example.line}", "exec", optimize=0)
            exec(code, {"__name__": "__example__"})


def test_source_references_resolve() -> None:
    problems = [found for text in PAGES.values() for found in references.link_references(text)[1]]
    assert not problems, "\n".join(map(str, problems))


# --------------------------------------------------------------------------- what it shows


@pytest.mark.parametrize(("page", "number"), FENCES)
def test_fence(page: str, number: int, build: state.Build) -> None:
    example = examples(page)[number]
    evaluate(example)
    html = example.namespace["output"]
    assert html.strip()
    assert "/tmp/" not in html and str(ROOT) not in html and str(Path.home()) + "/" not in html
    (block,) = (block for block in PAGES[page].blocks if block.line == example.line)
    for call in block.calls:
        if call.snippet:
            _shows(html, call, build)


def _shows(html: str, use: Call, build: state.Build) -> None:
    """The chosen runs are good and not stale, and an output of one of them is stamped."""
    runs = build.book.runs[use.snippet]
    assert runs and all(run.ok and run.snippet == use.snippet for run in runs)
    if use.function != "code":
        assert "tclab-stamp" in html


@pytest.mark.snippet
def test_every_snippet_has_a_run_to_show(build: state.Build) -> None:
    assert set(build.book.runs) == set(build.book.all_snippets)
    for name, runs in build.book.runs.items():
        assert runs, name
        for run in runs:
            assert run.artifacts or run.stdout or run.raised, name


def test_every_function_for_pages_is_told_to_who_writes_one() -> None:
    told = (DOCS / "contributing.md").read_text(encoding="utf-8")
    calls = re.findall(r"^\| `(\w+)\([^`]*\)` \|", told, re.MULTILINE)
    assert sorted(calls) == sorted(page.__all__) == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_known_of_a_function_is_its_signature(name: str) -> None:
    parameters = inspect.signature(getattr(page, name)).parameters
    assert tuple(parameters) == FUNCTIONS[name].parameters
