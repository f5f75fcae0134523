"""Any page: its bindings, references and fences are read, or refused with their line."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclab.errors import PageError, SnippetError, TclabError
from tclab.site import snippets
from tclab.site.pages.prose import fences, references, sources, statements
from tclab.site.pages.prose.text import PageText
from tclab.site.snippets import claims

from .growth import assert_linear

PIECES = [
    "a", "A sentence. ", "12 ms ", ".", "  ", "\n", "\n\n", "# ", "[", "]", "(", ")", "`", "``",
    "```", "~~~", '```python exec="1" html="1"\n', ' key="', "'", '"', "[It holds.](claim:t/x#one)",
    "](claim:", "[](value:", "[](value:t/x#table/row/column)", "`src:torch.compile`", "`src:",
    "`src:no name`", "snippet(", 'snippet("t/x")', "---\n", "- ", "> ", "\t", "é", "\u2028", "\f",
]  # fmt: skip
MIXES = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), min_size=1, max_size=20)
MIXES = MIXES.map("".join).filter(bool)


@pytest.fixture(autouse=True, scope="module")
def no_installed_source():
    """Find every name without looking it up in the installed packages."""
    location = sources.Location("torch.x", "torch/x.py", 1, "https://example.org/")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "locate_for_page", lambda name, place: location)
        yield


def refusal(f: Callable[..., object], *arguments: object) -> TclabError | None:
    """Return the declared error that a function raises, if any."""
    try:
        f(*arguments)
    except (PageError, SnippetError) as error:
        return error
    return None


def line(error: TclabError, file: str) -> int:
    """Return the line that an error names, after checking that it has a next step."""
    assert error.next_step
    number = int(re.fullmatch(rf"{re.escape(file)}:(\d+)", error.place)[1])
    assert number >= 1
    return number


def read(text: str) -> list[object]:
    """Return everything that the build reads from a page."""
    page = PageText("docs/x.md", text)
    return [
        page.sentences, page.values, page.uses, page.statements, page.headings, page.body_line,
        tuple(statements.typed_numbers(page)), references.link_references(page),
    ]  # fmt: skip


@settings(max_examples=400)
@given(MIXES)
def test_a_page_is_read_or_refused_with_its_line(text):
    error = refusal(read, text)
    assert error is None or line(error, "docs/x.md") <= text.count("\n") + 1


@given(MIXES, st.integers(0, 200))
def test_a_place_is_the_line_of_the_text(text, offset):
    page = PageText("docs/x.md", text)
    offset = min(offset, len(text))
    assert page.find_line(offset) == 1 + text.count("\n", 0, offset)


@given(MIXES)
def test_what_is_bound_stands_in_the_text(text):
    page = PageText("docs/x.md", text)
    try:
        found = page.sentences
    except PageError:
        return
    for sentence in found:
        assert text[sentence.start : sentence.end].startswith(f"[{sentence.text}](claim:")
        assert sentence.line == page.find_line(sentence.start)


def read_or_refuse(text: str) -> None:
    with contextlib.suppress(PageError):
        read(text)


@settings(max_examples=40)
@given(MIXES)
def test_time_grows_with_the_page(text):
    assert_linear(read_or_refuse, text)


@pytest.mark.parametrize("piece", [*PIECES, "[a](claim:t/x#b) ", "`a", ".](a) ", "1,", "\n```\n"])
def test_time_grows_with_a_page_of_one_piece(piece):
    assert_linear(read_or_refuse, piece)
    assert_linear(read_or_refuse, piece, "\n[a](claim:t/x#b)!")


def test_options_of_a_fence_are_read_in_one_way():
    info = ' a="1"' * 200
    with pytest.raises(PageError, match="cannot read the fence's info string"):
        list(fences.find_fences(f"```python{info} !\n```\n", "docs/x.md"))


CODE = ["# claim: a\n", "# claim: b, torch >= 2.13\n", "# claim:", "assert x\n", "assert x, 'm'\n",
        "assert True\n", "x = 1\n", "if x:\n", "    ", "'''", "\f", "\u2028", "\n",
        "# tclab: timeout=",
        "# tclab: needs=cuda\n", "1", " ", "é"]  # fmt: skip


@settings(max_examples=400)
@given(st.lists(st.sampled_from(CODE) | st.text(max_size=2), max_size=15).map("".join))
def test_claims_are_found_below_their_comments_or_refused(code):
    source = code.replace("\r", "\n")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for error in (
        refusal(claims.find, tree, source, "x.py"),
        refusal(snippets.header, source, "x.py"),
    ):
        if error:
            assert line(error, "x.py") <= source.count("\n") + 1
            return
    found = claims.find(tree, source, "x.py")
    lines = source.split("\n")
    for claim in found:
        assert lines[claim.line - 1].lstrip(" \f").startswith("assert")
        assert f"claim: {claim.name}" in lines[claim.line - 2]


@pytest.mark.parametrize("piece", [" ", "a ", "# claim:", "# claim: a", "\n# claim: a-b\n", ","])
def test_time_grows_with_a_comment(piece):
    def find(text: str) -> None:
        with contextlib.suppress(SnippetError):
            claims.find(ast.Module([], []), f"# claim: {text}!", "x.py")

    assert_linear(find, piece)
