"""A lab's page: the engine's outputs, cell by cell; no torch in these small ones."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import nbformat
import pytest

from tclab.render.escape import esc
from tclab.site.labs import source
from tclab.site.pages import book, lab_pages, proofs, state

ROOT = Path(__file__).resolve().parents[2]

SMALL = '''\
# %% [markdown]
# # Lab 1 · Small
#
# What it is about.

# %%
import tclab

print("printed first")
tclab.show([{"a": 1}], title="A table")
print("printed after")

# %% [markdown]
# ## Exercise

# %% tags=["exercise"]
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION


# %% tags=["try"]
print(double(21))
# claim: it-doubles
assert double(2) == 4

# %% [markdown]
# [Twice two is four.](claim:labs/lab1_small#it-doubles)
'''


@pytest.fixture
def project(lab):
    """A project with one lab; `write` gives it another source."""
    docs = lab.root / "docs"
    (docs / "labs").mkdir(parents=True)

    def write(text: str) -> book.Book:
        (docs / "labs" / "lab1_small.py").write_text(textwrap.dedent(text), encoding="utf-8")
        return book.open_book(lab.root, docs)

    return write


def html(opened: book.Book, tmp_path) -> str:
    """Return the page's body, as mkdocs-jupyter and then the site make it."""
    from mkdocs_jupyter import convert  # slow to import, in each process that collects tests

    state.begin_build(opened)
    (lab,) = opened.labs.values()
    notebook = lab_pages.notebook(lab, opened)
    nbformat.validate(nbformat.from_dict(notebook))
    path = tmp_path / "page.ipynb"
    path.write_text(nbformat.writes(nbformat.from_dict(notebook)), encoding="utf-8")
    return lab_pages.extract_notebook(
        convert.nb2html(str(path), no_prompt=True, custom_mathjax_url="")
    )


def test_outputs_stand_in_order_and_solutions_in_folds(project, tmp_path):
    page = html(project(SMALL), tmp_path)
    order = ("printed first", "A table", "printed after", "raise", "One solution", "42")
    assert [page.count(text) > 0 for text in order] == [True] * len(order)
    assert list(map(page.index, order)) == sorted(map(page.index, order))
    assert '<details class="tclab-solution">' in page
    assert 'class="tclab-stamp' in page


PREDICTED = """\
# %% [markdown]
# # Lab 1 · Small
#
# *Predict first:* what is twice 21?

# %%
def shown_before_it(x):
    return 2 * x


# %% tags=["try"]
print("the answer is", shown_before_it(21))

# %% [markdown]
# It is the answer.
#
# And its reason.
#
# Another thing. *Predict
# first:* and thrice?

# %% tags=["exercise"]
def thrice(x):
    ### BEGIN SOLUTION
    return 3 * x
    ### END SOLUTION


# %% tags=["try"]
print("thrice is", thrice(21))

# %% [markdown]
# ## What follows

# %% tags=["try"]
print("not asked")
"""


def test_what_answers_a_prediction_is_folded_until_one_has_been_made(project, tmp_path):
    page = html(project(PREDICTED), tmp_path)
    folds = re.findall("<summary[^>]*>Predict, then open.*?</details>", page, re.DOTALL)
    assert page.count("Predict, then open") == len(folds) == 2
    first, second = folds
    assert "the answer is 42" in first and "It is the answer" in first and "its reason" in first
    assert "thrice is 63" in second and "the answer" not in second
    rest = "".join(page.replace(first, "").replace(second, "").split())
    for text in ("shown_before_it", "Anotherthing", "thrice(x)", "Whatfollows", "notasked"):
        assert text in re.sub("<[^>]*>", "", rest)
    for answer in ("theanswer", "Itistheanswer", "thriceis63"):
        assert answer not in re.sub("<[^>]*>", "", rest)


def test_a_page_asks_nothing_of_another_host_and_brings_no_style(project, tmp_path):
    page = html(project(SMALL), tmp_path)
    assert "<script" not in page
    assert "<style" not in page
    assert "clipboard" not in page
    assert len(page) < 20_000


def test_a_bound_sentence_leads_to_its_cell(project, tmp_path):
    page = html(project(SMALL), tmp_path)
    assert 'class="tclab-proof"' in page
    target = page.split('class="tclab-proof" href="#', 1)[1].split('"', 1)[0]
    assert f'id="{target}"' in page


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("return 2 * x", "return 2 / 0", "docs/labs/lab1_small.py:20"),
        ('tclab.show([{"a": 1}]', "tclab.show(nothing", "docs/labs/lab1_small.py:10"),
        ("assert double(2) == 4", "assert double(2) == 5", "docs/labs/lab1_small.py:27"),
        ("#it-doubles", "#it-halves", "docs/labs/lab1_small.py:30"),
        ("### END SOLUTION", "### THE END", "docs/labs/lab1_small.py"),
    ],
)
def test_what_is_wrong_with_a_lab_ends_the_build_with_its_line(project, old, new, place):
    problems = problems_of(project, SMALL.replace(old, new))
    assert any(place in str(problem) for problem in problems), problems


def problems_of(project, text: str):
    try:
        return proofs.problems(project(text))
    except book.Problems as error:
        return error.problems


def test_below_each_exercise_stands_what_the_check_asks():
    lab = source.get(ROOT, 2)
    asked = lab_pages._load_exercises(lab)
    for cell in (cell for cell in lab.cells if cell.has_solution):
        raw = "".join(str(made["source"]) for made in lab_pages._code_cells(cell, [], asked))
        steps = [
            step.says for each in asked if lab_pages._is_solution(cell, each) for step in each.steps
        ]
        assert len(steps) >= 3
        assert all(esc(says) in raw for says in steps)
        assert raw.index(esc(steps[0])) < raw.index("One solution")


def test_cells_know_their_lines():
    cells = list(source.cells(SMALL))
    assert [cell.line for cell in cells] == [1, 6, 13, 16, 24, 29]
    assert [cell.kind for cell in cells] == ["markdown", "code"] * 2 + ["code", "markdown"]
    assert [cell.tags for cell in cells if cell.tags] == [("exercise",), ("try",)]
