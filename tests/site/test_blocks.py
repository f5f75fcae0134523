"""The engine that runs a page's blocks: output, isolation, and the line of every failure."""

from __future__ import annotations

import pytest

from tclab.errors import PageError, SnippetError
from tclab.page import blocks


def run(code: str, line: int = 10) -> str:
    return blocks.execute(code, blocks.Block(blocks.Page("docs/x.md"), line))


def test_printed_text_is_the_output_as_it_is() -> None:
    assert run("print('<b>', 1, sep='', end='!')") == "<b>1!"


def test_emitted_html_is_the_output() -> None:
    assert run("from tclab.page.blocks import current\ncurrent().emit('<hr>')") == "<hr>\n"


def test_blocks_do_not_see_each_other() -> None:
    run("leaked = 1\nprint(1)")
    with pytest.raises(PageError, match="NameError"):
        run("print(leaked)")


@pytest.mark.parametrize(
    ("code", "line", "said"),
    [
        ("print(1)\n1 / 0", 12, "ZeroDivisionError"),
        ("def f():\n    raise KeyError('k')\n\nf()", 12, "KeyError: 'k'"),
        ("print(1)\nimport sys\nsys.exit(0)", 13, "sys.exit(0)"),
        ("print(1)\nraise SystemExit", 12, "sys.exit(None)"),
        ("print(1)\nx = = 2", 12, "SyntaxError"),
        ("raise GeneratorExit", 11, "GeneratorExit"),
        ("x = 1", 10, "puts nothing on the page"),
    ],
)
def test_every_failure_names_the_line_of_the_page(code: str, line: int, said: str) -> None:
    with pytest.raises(PageError) as caught:
        run(code)
    assert caught.value.place == f"docs/x.md:{line}"
    assert said in caught.value.cause
    assert caught.value.next_step


def test_an_error_from_below_keeps_its_own_place() -> None:
    code = "from tclab.errors import SnippetError as E\nraise E('snippets/a/b.py:3', 'c', 'n')"
    with pytest.raises(PageError, match=r"docs/x\.md:12: snippets/a/b\.py:3: c\n  next: n") as e:
        run(code)
    assert isinstance(e.value.__cause__, SnippetError)


def test_an_interrupt_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        run("raise KeyboardInterrupt")


def test_page_functions_outside_a_block_say_so() -> None:
    from tclab.page import snippet

    with pytest.raises(PageError, match="in a page's executable block only"):
        snippet("start/hello")


def test_ids_are_unique_on_a_page_and_links_go_up() -> None:
    page = blocks.Page("docs/a/b.md", "a/b.html")
    assert page.unique("start/x y") == "start-x-y"
    assert page.unique("start/x-y") == "start-x-y--2"
    assert page.link("downloads/x.py") == "../downloads/x.py"
    assert blocks.Page("docs/b.md", "b.html").link("x") == "x"
