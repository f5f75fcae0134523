"""``tclab claims``: how much of each page's prose an assert carries."""

from __future__ import annotations

import pytest

from tclab.cli import command

SNIPPET = (
    '"""Sums."""\n\nimport tclab\n\n# claim: two\nassert sum((1, 1))\ntclab.show("x", title="T")\n'
)
PAGE = """# Sums

```python exec="1" html="1"
from tclab.site.pages import snippet
snippet("start/sums")
```

[One and one is two.](claim:start/sums#two) The table shows this.

Nobody proves this.
[Two again](claim:start/sums#two) is in a sentence. Nor is this proven.
"""


@pytest.fixture
def tclab(lab, monkeypatch, capsys):
    """Runs the command in a project of two pages, and gives its status and words."""
    for path, text in {
        "mkdocs.yml": "site_name: test\n",
        "snippets/start/sums.py": SNIPPET,
        "docs/index.md": PAGE,
        "docs/more/other.md": "# Other\n\nOne sentence.\n",
    }.items():
        (lab.root / path).parent.mkdir(parents=True, exist_ok=True)
        (lab.root / path).write_text(text)
    monkeypatch.setenv("TCLAB_ROOT", str(lab.root))
    monkeypatch.setenv("COLUMNS", "120")

    def run(*words: str) -> tuple[int, list[str]]:
        status = command.main(list(words))
        return status, capsys.readouterr().out.splitlines()

    return run


def cells(lines: list[str]) -> dict[str, list[str]]:
    """Return the cells of each row by its first one."""
    return {row[0]: row[1:] for row in map(str.split, lines) if row}


@pytest.mark.snippet
def test_sentences_are_counted_by_page_and_in_all(tclab):
    assert tclab("run", "start/sums")[0] == 0
    status, lines = tclab("claims")
    assert status == 0
    rows = cells(lines)
    assert rows["docs/index.md"] == ["5", "2", "1", "2", "60%", "2", "1", "1"]
    assert rows["docs/more/other.md"] == ["1", "0", "0", "1", "0%", "0", "0", "0"]
    assert rows["all"] == ["6", "2", "1", "3", "50%", "2", "1", "1"]
    _, lines = tclab("claims", "index", "--unbound")
    assert lines == ["docs/index.md: Nobody proves this.", "docs/index.md: Nor is this proven."]


def test_sentences_of_every_case_are_listed(tclab, lab):
    page = "# All\n\n[Always so.](claim:start/sums#two) It is [two](claim:start/sums#two) always.\n"
    (lab.root / "docs/more/other.md").write_text(f"{page}`only` code. Never, and no more.\n")
    _, lines = tclab("claims", "other", "--universal")
    assert lines == [
        "docs/more/other.md: always: It is [two](claim:start/sums#two) always.",
        "docs/more/other.md: never, no: Never, and no more.",
    ]


def test_a_claim_that_was_not_run_held_nowhere(tclab):
    assert cells(tclab("claims")[1])["docs/index.md"][-1] == "0"
    assert any("nowhere" in line for line in tclab("claims", "index")[1])


@pytest.mark.parametrize("claim", ["start/sums", "start/sums#two"])
def test_the_sentences_of_a_claim_are_listed_on_every_page(tclab, lab, claim):
    (lab.root / "docs/more/other.md").write_text("# Other\n\n[Two](claim:start/sums#two).\n")
    status, lines = tclab("claims", claim)
    assert status == 0 and len(lines) == 4
    assert [line.split()[0] for line in lines[1:]] == [
        "docs/index.md:8",
        "docs/index.md:11",
        "docs/more/other.md:3",
    ]
    assert "One and one is two." in lines[1] and "start/sums#two" in lines[1]


@pytest.mark.parametrize("name", ["nothing", "start/sums#three", "start/summs#two"])
def test_a_page_or_a_claim_that_is_not_there(tclab, name):
    assert tclab("claims", name)[0] == 1
