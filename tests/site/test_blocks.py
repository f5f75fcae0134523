"""The executable fences of a page: read as values, or refused with the line; then executed."""

from __future__ import annotations

import pytest

from tclab.errors import PageError, SnippetError
from tclab.model import Break, Breaks, Provenance, Run, SourceLine
from tclab.render.escape import esc
from tclab.site import pages as functions
from tclab.site.pages import block_runner, fragments, rendering
from tclab.site.pages.prose.blocks import Call
from tclab.site.pages.prose.text import PageText

IMPORT = "from tclab.site.pages import code, entries, overview, show, snippet"


def page(*lines: str, info: str = 'python exec="1" html="1"') -> PageText:
    """Return a page whose only block opens on line 3."""
    return PageText("docs/x.md", "\n".join(["# Title", "", f"```{info}", *lines, "```", ""]))


def test_a_block_is_its_calls_with_their_arguments_by_name() -> None:
    lines = ['show("a/b", "table", as_="text")', 'snippet(name="c/d", focus=["f"])', "overview()"]
    (block,) = page(IMPORT, *lines).blocks
    assert (str(block), block.end, block.heading) == ("docs/x.md:3", 8, "Title")
    assert block.calls == (
        Call("docs/x.md", 5, "show", "a/b", {"artifact": "table", "as_": "text"}),
        Call("docs/x.md", 6, "snippet", "c/d", {"focus": ["f"]}),
        Call("docs/x.md", 7, "overview", "", {}),
    )
    assert [call.artifact_names for call in block.calls] == [["table"], None, None]
    assert [str(use) for use in page(IMPORT, *lines).uses] == ["docs/x.md:5", "docs/x.md:6"]


def test_only_the_first_block_below_a_heading_has_it() -> None:
    fence = f'```python exec="1" html="1"\n{IMPORT}\ncode("a/b")\n```\n'
    text = PageText("x.md", f"# One\n\n## Two\n\n{fence}\n{fence}\n## Three\n\n```\n```\n{fence}")
    assert [block.heading for block in text.blocks] == ["Two", "", ""]


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        (["1 / 0"], 4, "this is neither"),
        (["print(1)"], 4, "has not imported print()"),
        ([IMPORT, "", 'x = "a/b"'], 6, "this is neither"),
        ([IMPORT, "import sys"], 5, "this is neither"),
        (["from tclab.explain import explain"], 4, "from tclab.site.pages alone"),
        (["from .page import code"], 4, "from tclab.site.pages alone"),
        (["from tclab.site.pages import code as c"], 4, "from tclab.site.pages alone"),
        (["from tclab.site.pages import *"], 4, "has no '*'"),
        (["from tclab.site.pages import cod"], 4, "has no 'cod'"),
        (["from tclab.site.pages import code", 'show("a/b")'], 5, "has not imported show()"),
        ([IMPORT, 'page.show("a/b")'], 5, "has not imported page.show()"),
        ([IMPORT, "x = = 2"], 5, "SyntaxError"),
        ([IMPORT, "", 'show("a/" + "b")'], 6, "is no literal"),
        ([IMPORT, 'show("a/b", *["t"])'], 5, "is no literal"),
        ([IMPORT, 'show("a/b", **{"fold": True})'], 5, "does not take **"),
        ([IMPORT, 'show("a/b", foldd=True)'], 5, "does not take foldd"),
        ([IMPORT, 'show("a/b", "t", artifact="t")'], 5, "does not take these arguments"),
        ([IMPORT, 'overview("a/b")'], 5, "does not take these arguments"),
        ([IMPORT, "show()"], 5, "needs a snippet's name"),
        ([IMPORT, "show(3)"], 5, "needs a snippet's name"),
        ([IMPORT], 3, "puts nothing on the page"),
        ([], 3, "puts nothing on the page"),
    ],
)
def test_what_is_no_import_and_no_call_is_refused_with_its_line(
    lines: list[str], line: int, said: str
) -> None:
    with pytest.raises(PageError) as caught:
        page(*lines).blocks  # noqa: B018
    assert caught.value.place == f"docs/x.md:{line}"
    assert said in caught.value.cause
    assert caught.value.next_step


# --------------------------------------------------------------------------- executing


def execute(monkeypatch, function, *lines: str) -> str:
    """Return the output of a block whose calls of `show` are calls of `function`."""
    monkeypatch.setattr(functions, "show", function)
    (block,) = page(IMPORT, *lines).blocks
    return block_runner.execute_block(block, rendering.Page("docs/x.md"))


def test_the_output_is_what_the_calls_return_one_below_the_other(monkeypatch) -> None:
    def show(name: str, artifact: str = "") -> str:
        running = rendering.current_block()
        return esc(f"{running.place} {running.heading}: {name} {artifact}")

    html = execute(monkeypatch, show, 'show("a/b")', 'show("c/d", "<t>")')
    assert html == "docs/x.md:5 Title: a/b \ndocs/x.md:6 Title: c/d &lt;t&gt;\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ZeroDivisionError("zero"), "ZeroDivisionError: zero"),
        (SnippetError("snippets/a/b.py:3", "the cause", "n"), "snippets/a/b.py:3: the cause"),
        (PageError("docs/y.md:3", "the cause", "n"), "docs/y.md:3: the cause"),
    ],
)
def test_a_failure_names_the_line_of_the_call(monkeypatch, error: Exception, said: str) -> None:
    def show(name: str) -> str:
        if name == "c/d":
            raise error
        return "shown"

    with pytest.raises(PageError) as caught:
        execute(monkeypatch, show, 'show("a/b")', 'show("c/d")')
    assert (caught.value.place, caught.value.cause) == ("docs/x.md:6", said)
    assert caught.value.next_step and caught.value.__cause__ is error


def test_an_error_of_the_page_itself_keeps_its_place(monkeypatch) -> None:
    error = PageError("docs/x.md:5", "the cause", "the step")

    def show(name: str) -> str:
        raise error

    with pytest.raises(PageError) as caught:
        execute(monkeypatch, show, 'show("a/b")')
    assert caught.value is error


def test_arguments_that_a_function_lacks_are_an_error_of_the_page(monkeypatch) -> None:
    with pytest.raises(PageError, match=r"docs/x\.md:5: TypeError: .*'table'"):
        execute(monkeypatch, None, 'entries("a/b")')


def test_a_block_that_puts_nothing_on_the_page_is_refused(monkeypatch) -> None:
    with pytest.raises(PageError, match=r"docs/x\.md:3: the block puts nothing on the page"):
        execute(monkeypatch, lambda name: "", 'show("a/b")')


def test_an_interrupt_passes(monkeypatch) -> None:
    def show(name: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(monkeypatch, show, 'show("a/b")')


def test_a_fence_is_its_block_by_its_text_and_in_order() -> None:
    fence = f'```python exec="1" html="1"\n{IMPORT}\ncode("a/b")\n```\n'
    text = PageText("x.md", fence + fence.replace("a/b", "c/d") + fence)
    on = rendering.Page("x.md", waiting_blocks=list(text.blocks))
    first, second, third = text.blocks
    assert [on.next_block(b.code + "\n") for b in (second, first, third)] == [second, first, third]
    with pytest.raises(PageError, match=r"x\.md:1: an executable fence that was not read"):
        on.next_block(first.code)


# --------------------------------------------------------------------------- around a block


def test_page_functions_outside_a_block_say_so() -> None:
    with pytest.raises(PageError, match="in a page's executable block only"):
        functions.snippet("start/hello")


def test_ids_are_unique_on_a_page_and_links_go_up() -> None:
    page = rendering.Page("docs/a/b.md", "a/b.html")
    assert page.unique_id("start/x y") == "start-x-y"
    assert page.unique_id("start/x-y") == "start-x-y--2"
    assert page.link("downloads/x.py") == "../downloads/x.py"
    assert rendering.Page("docs/b.md", "b.html").link("x") == "x"


def test_a_kept_figure_of_another_pytorch_has_the_links_of_its_own(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(fragments, "fragments_folder", lambda: tmp_path)
    place = SourceLine("torch/nn/functional.py", 7, "return x")
    shown = Breaks("Breaks", "breaks", (Break("a print", location=place),), 2)
    for commit in ("1" * 40, "2" * 40, "1" * 40):
        made = Provenance("2.13.0+cpu", commit, "3.11", "a CPU", "Linux", "2026-11-23")
        run = Run("start/x", "here", "s", made, 0.1, 1, (shown,))
        page = rendering.Page("docs/x.md", "x.html")
        html = fragments.figure(page, run, shown, "x", None, None, titled=True)
        assert f"/blob/{commit}/torch/nn/functional.py#L7" in html
    assert len(list(tmp_path.glob("*.html"))) == 3  # the third was kept; and the search's words
