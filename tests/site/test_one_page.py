"""One page built alone: what it needs runs, and what is wrong with it is said with its line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tclab.errors import BadRequest
from tclab.site.pages.one_page import rules
from tclab.site.pages.one_page.__main__ import find_page
from tclab.site.pages.prose.text import PageText

BLOCK = (
    '```python exec="1" html="1"\nfrom tclab.site.pages import snippet\nsnippet("start/{}")\n```\n'
)
NAV = (
    "nav:\n  - Home: index.md\n  - Other: other.md\n  - Labs:\n      - One: labs/lab1_small.ipynb\n"
)
HOME = "# Home\n\nSee [another page](other.md#there) and [a lab](labs/lab1_small.ipynb).\n\n"


@pytest.fixture
def two_pages(project):
    """The project with a second page, whose snippet fails, and a lab."""
    config = (project.root / "mkdocs.yml").read_text(encoding="utf-8")
    project.write("mkdocs.yml", config.replace("nav:\n  - Home: index.md\n", NAV))
    project.write("docs/labs/lab1_small.py", "# %% [markdown]\n# # Lab\n")
    project.write("docs/index.md", HOME + BLOCK.format("hello"))
    project.write("docs/other.md", "# Other\n\n" + BLOCK.format("broken"))
    project.write("snippets/start/broken.py", '"""Broken."""\nraise ValueError("on purpose")\n')
    return project


def alone(project, page: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tclab.site.pages.one_page", page]
    return subprocess.run(
        command, cwd=project.root, env=project.environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_one_page_is_built_and_what_it_needs_runs(two_pages) -> None:
    done = alone(two_pages, "index")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "stale: start/hello\n" in done.stderr
    assert "docs/index.md: 1 blocks, 0 bound sentences, 0 values" in done.stdout
    folder = two_pages.root / ".tclab/page"
    assert f"It lies in {folder}/index.html" in done.stdout
    html = (folder / "index.html").read_text(encoding="utf-8")
    assert "printed by hello" in html and "tclab-stamp" in html
    assert 'href="other.html#there"' in html and 'href="labs/lab1_small.html"' in html
    assert [path.name for path in folder.rglob("*.html")] == ["index.html"]
    assert not [name for name in ("search", "llms.txt", "sitemap.xml") if (folder / name).exists()]
    assert not (folder / "downloads/start/broken.py").exists()
    assert (folder / "downloads/start/hello.py").is_file()


def test_a_page_that_breaks_a_rule_is_built_and_the_line_said(two_pages) -> None:
    page = two_pages.root / "docs/index.md"
    page.write_text(f"{page.read_text()}\nIt took 300 ms.\n\n```python\n1 / 0\n```\n")
    done = alone(two_pages, "index")
    assert done.returncode == 1
    assert "docs/index.md:10: '300 ms' is typed" in done.stderr
    assert "docs/index.md:12: the example does not run: ZeroDivisionError" in done.stderr
    assert "It took 300 ms." in (two_pages.root / ".tclab/page/index.html").read_text()
    two_pages.write("docs/index.md", HOME.replace("other.md", "gone.md") + BLOCK.format("hello"))
    done = alone(two_pages, "docs/index.md")
    assert done.returncode == 1 and "'gone.md' is not found" in done.stderr


def test_a_snippet_that_fails_ends_the_build_of_its_page(two_pages) -> None:
    done = alone(two_pages, "other")
    assert done.returncode == 1
    assert "docs/other.md:5: snippets/start/broken.py:2" in done.stderr
    assert "on purpose" in done.stderr and "Traceback" not in done.stderr


CITED = '''"""Two."""

two = 1 + 1
# claim: it-is-two
assert two == 2
'''


def test_what_a_page_only_cites_is_not_run_but_checked_where_it_has_run(two_pages) -> None:
    two_pages.write("snippets/start/cited.py", CITED)
    two_pages.write("docs/index.md", HOME + "[One and one are two.](claim:start/cited#it-is-two)\n")
    done = alone(two_pages, "index")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "stale" not in done.stderr
    assert "next, to check what rests on it, too: tclab run start/cited\n" in done.stdout
    page = two_pages.root / ".tclab/page/index.html"
    assert "not run here" in page.read_text(encoding="utf-8")
    command = [sys.executable, "-m", "tclab", "run", "start/cited"]
    subprocess.run(command, cwd=two_pages.root, env=two_pages.environment(), check=True)
    done = alone(two_pages, "index")
    assert done.returncode == 0 and "tclab run" not in done.stdout, done.stdout + done.stderr
    assert "not run here" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "cause", "step"),
    [
        ([""], "name one page", "make page PAGE=pipeline/guards"),
        (["a", "b"], "name one page", "make page PAGE="),
        (["a/gards"], "has no such page", "did you mean a/guards.md"),
        (["uard"], "more than one page", "a/guards.md or b/guards.md"),
        (["labs/lab1"], "a lab's page", "make site"),
    ],
)
def test_a_page_that_is_not_one_is_refused(tmp_path: Path, words, cause: str, step: str) -> None:
    for name in ("a/guards.md", "b/guards.md", "labs/lab1.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for word in ("a/guards", "a/guards.md", "docs/a/guards.md", "a/g"):
        assert find_page(tmp_path, [word]) == "a/guards.md"
    with pytest.raises(BadRequest) as caught:
        find_page(tmp_path, words)
    assert cause in caught.value.cause and step in caught.value.next_step


# --------------------------------------------------------------------------- the rules

TITLE = "# Title\n\n> Why?\n\n"
CHAPTER = f"---\nflow: guards\n---\n\n{TITLE}Text.\n"


@pytest.mark.parametrize(
    ("page", "text", "line", "said"),
    [
        ("docs/pipeline/x.md", CHAPTER.replace("flow", "flows"), 1, "place in the compiler"),
        ("docs/pipeline/x.md", CHAPTER.replace("> Why?", "Why?"), 4, "begins with the question"),
        ("docs/x.md", "# T\n\n**The question:** Why?\n\nText.\n", 1, "begins with the question"),
        ("docs/x.md", f"{TITLE}After this page you can.\n", 1, "begins with the question"),
        ("docs/x.md", f"{TITLE}After reading this page you can.\n", 1, "begins with the question"),
        ("docs/x.md", "# T\n\n> Why? It is\n> long.\n\nText.\n", 1, "in one line"),
        ("docs/x.md", f"{TITLE}It has 300 rows.\n", 5, "'300' is typed"),
        ("docs/x.md", f'---\nchosen: ["30"]\n---\n{TITLE}', 1, "lists '30' under chosen:"),
        ("docs/x.md", f"{TITLE}One. It is always so.\n", 5, "no claim carries 'always'"),
        ("docs/x.md", f"{TITLE}### Deep\n", 5, "a heading of level 3 below one of level 1"),
        ("docs/x.md", f"\n#{TITLE}", 1, "does not begin with its title"),
        (
            "docs/x.md",
            f"{TITLE}from tclab.site.pages import show\n",
            5,
            "stands in no fence that runs",
        ),
        ("docs/x.md", f'{TITLE}```python exec="0"\n```\n', 5, "stands in no fence that runs"),
    ],
)
def test_a_broken_rule_is_said_with_its_line(page: str, text: str, line: int, said: str) -> None:
    (problem,) = rules.text_problems(PageText(page, text))
    assert problem.place == f"{page}:{line}"
    assert said in problem.cause and problem.next_step


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("docs/pipeline/x.md", CHAPTER),
        ("docs/x.md", f'---\nchosen: ["300"]\n---\n{TITLE}It has 300 rows.\n'),
        ("docs/contributing.md", f"{TITLE}It is always so.\n"),
        ("docs/x.md", f'{TITLE}````md\n```python exec="1"\n```\n````\n'),
        ("docs/index.md", "# T\n\nAfter this page you can.\n"),
    ],
)
def test_a_page_that_keeps_the_rules_has_no_problem(page: str, text: str) -> None:
    assert rules.text_problems(PageText(page, text)) == []
