"""Sentences bound to asserts: the mark a reader sees, and each way a binding can be wrong."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from tclab.errors import PageError
from tclab.model import Table
from tclab.site.pages import numbers
from tclab.site.pages.prose.text import PageText

SNIPPET = '''"""Count."""

import tclab

n = 2
tclab.show(tclab.Table("Times", "times", ("what", "median"), (("eager", 1.5), ("compiled", 0.75)),
                       units=("", "ms"), formats=("", ".2f")))
# claim: two
assert n == 2
# claim: later, torch >= 99.0
assert n == 3
if n == 5:
    # claim: never
    assert n == 5
'''

BLOCK = """
```python exec="1" html="1"
from tclab.site.pages import snippet
snippet("start/hello")
```
"""


@pytest.fixture
def page(project):
    """Write a home page with this text above the snippet."""

    def write(text: str):
        project.write("snippets/start/hello.py", SNIPPET)
        project.write("docs/index.md", f"# Home\n\n{text}\n{BLOCK}")
        return project

    return write


def test_a_sentence_leads_to_its_assert(page) -> None:
    project = page("Before. [There are `n[0]` **two**.](claim:start/hello#two) After.")
    done = project.build("--strict")
    assert done.returncode == 0, done.stdout
    html = project.html()
    words = "There are <code>n[0]</code> <strong>two</strong>."
    assert f'Before. <span class="tclab-sentence">{words}</span>' in html
    assert 'href="#src-start-hello-L9"' in html
    assert 'id="src-start-hello-L9"' in html
    assert "assert n == 2" in html
    assert "held: PyTorch" in html


def test_a_mark_stays_whole_in_an_answer_and_in_a_table(page) -> None:
    answer = '??? question "How many?"\n    [Two.](claim:start/hello#two)'
    table = "| what | seen |\n| --- | --- |\n| [how many](claim:start/hello#two) | two |"
    project = page(f"{answer}\n\n{table}")
    done = project.build("--strict")
    assert done.returncode == 0, done.stdout
    text = re.sub(r"<[^>]*>", "", project.html())
    assert project.html().count('class="tclab-proof"') == 2
    assert "held: PyTorch" not in text and "<td>two</td>" in project.html()


def test_a_number_comes_from_the_run(page) -> None:
    project = page("It took [](value:start/hello#times/compiled/median), not more.")
    done = project.build("--strict")
    assert done.returncode == 0, done.stdout
    assert ">0.75\N{NO-BREAK SPACE}ms</span>, not more." in project.html()


def test_a_claim_of_some_versions_says_so(page) -> None:
    project = page("[It is three](claim:start/hello#later).")
    assert project.build("--strict").returncode == 0
    assert "It is three (PyTorch 99.0 and later; not run here)</span>" in project.html()


@pytest.mark.parametrize("words", ["From PyTorch 99.0 on it is three", "It is, from 99.0 on"])
def test_a_sentence_that_says_its_versions_does_not_say_them_twice(page, words: str) -> None:
    project = page(f"[{words}](claim:start/hello#later).")
    assert project.build("--strict").returncode == 0
    assert f"{words} (not run here)</span>" in project.html()


def test_a_sentence_that_says_other_versions_says_its_own(page) -> None:
    project = page("[From PyTorch 99.01 on it is three](claim:start/hello#later).")
    assert project.build("--strict").returncode == 0
    assert "three (PyTorch 99.0 and later; not run here)</span>" in project.html()


COMPARES = '---\ncompares: ["98.0", "{}"]\n---\n# Home\n\n[It is three](claim:start/hello#later).\n'


@pytest.mark.parametrize("after", ["99.0", "98.1"])
def test_a_page_of_two_versions_names_no_third(page, after) -> None:
    project = page("")
    project.write("docs/index.md", COMPARES.format(after) + BLOCK)
    done = project.build("--strict")
    if after == "99.0":
        assert done.returncode == 0, done.stdout
        assert "It is three (not run here)</span>" in project.html()
    else:
        assert done.returncode == 1
        assert "is about torch >= 99.0, the page about 98.0 and 98.1" in done.stdout


@pytest.mark.parametrize(
    ("text", "causes"),
    [
        (
            "[A.](claim:start/hello#two) [B.](claim:start/hello#three)",
            ["no claim 'three'", "it makes: two"],
        ),
        ("[Never.](claim:start/hello#never)", ["never was not reached", "hello.py:14"]),
        ("[Gone.](claim:start/gone#two)", ["no snippet 'start/gone'"]),
        ("[Odd.](claim:two)", ["cannot read the binding 'two'"]),
        ("](claim:start/hello#two)", ["has no sentence"]),
        ("[](value:start/hello#times/slow/median)", ["not one row 'slow'", "eager, compiled"]),
        ("[](value:start/hello#times/eager/mean)", ["not one column 'mean'"]),
        ("[](value:start/hello#nothing/eager/mean)", ["shows no 'nothing'"]),
    ],
)  # fmt: skip
def test_a_wrong_binding_names_page_and_cause(page, text: str, causes: list[str]) -> None:
    output = page(text).fails("--strict")
    assert "docs/index.md:3" in output
    assert "next: " in output
    for cause in causes:
        assert cause in output


THREADS = Table("Times", "times", ("threads", "time"), ((1, 10), (2, 20), (8, 80), (16, 160)))
ODD = Table("Odd", "odd", ("x", "time"), (("-4", 1), ("2.0", 2), ("> 8", 3), ("by hand", 4)))


def taken(table: Table, row: str, column: str = "time") -> str:
    """What a value of this row is in a table, with a stand-in for the book."""
    run = SimpleNamespace(artifact=lambda name: table, artifacts=(table,), environment="here")
    book = SimpleNamespace(select_runs=lambda name, place: [run])
    (value,) = PageText("p.md", f"[](value:t/x#{table.name}/{row}/{column})").values
    return numbers.number_text(value, book)


@pytest.mark.parametrize(
    ("table", "row", "number"),
    [(THREADS, "8", "80"), (THREADS, "#3", "80"), (THREADS, "1", "10"), (THREADS, "#1", "10"),
     (ODD, "-4", "1"), (ODD, "2.0", "2"), (ODD, "by-hand", "4"), (ODD, "By hand", "4"),
     (ODD, "#4", "4"), (ODD, "> 8", "3")],
)  # fmt: skip
def test_a_row_is_found_by_its_name_or_by_a_position_that_says_so(table, row, number) -> None:
    assert taken(table, row) == number


@pytest.mark.parametrize(
    ("table", "row", "column"),
    [(THREADS, "4", "time"), (THREADS, "3", "time"), (THREADS, "#5", "time"),
     (THREADS, "#0", "time"), (THREADS, "# 1", "time"), (THREADS, "08", "time"),
     (THREADS, "8", "2"), (THREADS, "8", "#2"), (ODD, "4", "time"), (ODD, "1", "time"),
     (ODD, "2", "time"), (ODD, "2-0", "time"), (ODD, "8", "time"), (ODD, "#x", "time")],
)  # fmt: skip
def test_a_value_whose_row_has_gone_is_not_taken_from_another(table, row, column) -> None:
    with pytest.raises(PageError, match=r"p\.md:1: \w+ has not one (row|column)") as error:
        taken(table, row, column)
    assert "next: there are: " in str(error.value)


@pytest.mark.parametrize("nothing", [None, "", float("nan")])
def test_a_cell_without_a_value_is_no_number_of_a_sentence(nothing) -> None:
    table = Table("Times", "times", ("what", "time"), (("eager", 1.5), ("compiled", nothing)))
    with pytest.raises(PageError, match="cell compiled/time of times holds no value"):
        taken(table, "compiled")


def test_a_mark_is_of_a_run_of_the_versions_that_the_claim_is_about(page) -> None:
    project = page("[There are two.](claim:start/hello#two)")
    snippet = SNIPPET.replace("# claim: two", "# claim: two, torch < 2.0")
    project.write("snippets/start/hello.py", snippet)
    assert project.build("--strict").returncode == 0
    assert "There are two. (before PyTorch 2.0; not run here)</span>" in project.html()
    assert 'class="tclab-proof"' not in project.html()


def test_all_false_sentences_are_listed_in_one_pass(page) -> None:
    project = page("[It is two.](claim:start/hello#two)\n\n[So it stays.](claim:start/hello#two)")
    project.write("snippets/start/hello.py", SNIPPET.replace("n = 2\n", "n = 4\n"))
    output = project.fails("--strict")
    assert "docs/index.md:3: “It is two.” is not proven: snippets/start/hello.py:9" in output
    assert "docs/index.md:5: “So it stays.” is not proven: snippets/start/hello.py:9" in output


def test_a_row_and_a_column_may_have_spaces() -> None:
    (taken,) = PageText("p.md", "[](value:start/hello#times/by hand, compiled/a call)").values
    assert (taken.row, taken.column) == ("by hand, compiled", "a call")


@pytest.mark.parametrize("link", ["[](value:a/b#c d)", "[It is.](claim:a/b#c d)"])
def test_a_binding_with_a_space_is_not_passed_over(link) -> None:
    with pytest.raises(PageError, match="cannot read"):
        PageText("p.md", link).values or PageText("p.md", link).sentences
