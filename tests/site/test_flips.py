"""A sentence on a claim that flips on a reader's machine names the backend, or the cold caches."""

from __future__ import annotations

import json

import pytest

from tclab.errors import SnippetError
from tclab.site.pages import book, flip_checks
from tclab.site.snippets import flips

SNIPPET = '''"""Count."""

print(n := 2)
# claim: two
assert n == 2
# claim: even
assert n % 2 == 0
'''
BLOCK = '\n```python exec="1" html="1"\nfrom tclab.site.pages import snippet\n{}\n```\n'
PAGE = "# Home\n\n{}\n" + BLOCK.format('snippet("start/hello")')
#: A page with its text in front of another sentence, which names what it rests on.
BESIDE = "It is `eager`'s backend, whose caches are cold. {} So says Dynamo, with cold caches."
KEPT = "[There are two.](claim:start/hello#two)"


def listed(project, **kinds: str) -> None:
    parts = {kind: {name: "it does so"} for kind, name in kinds.items()}
    project.write(flips.FILE, json.dumps(parts))


def found(project, text: str) -> list[str]:
    project.write("snippets/start/hello.py", SNIPPET)
    project.write("docs/index.md", PAGE.format(text))
    opened = book.open_stored_book(project.root, project.root / "docs")
    return [str(problem) for problem in flip_checks.problems(opened)]


def test_it_ends_the_build(project) -> None:
    project.write("snippets/start/hello.py", SNIPPET)
    project.write("docs/index.md", PAGE.format(KEPT))
    listed(project, inductor="start/hello#two")
    said = project.fails()
    assert "docs/index.md:3: “There are two.” rests on start/hello#two, which flips" in said
    assert "name its backend in the sentence" in said
    listed(project, inductor="start/hello#even")
    assert project.build().returncode == 0


def test_the_whole_sentence_is_looked_at_and_no_other(project) -> None:
    listed(project, inductor="start/hello#two", caches="start/hello#two")
    backend, caches = found(project, BESIDE.format(KEPT))
    assert "name its backend" in backend and "name cold caches" in caches
    (caches,) = found(project, f"For Dynamo {KEPT.replace('There', 'there')} And X.")
    assert "name cold caches" in caches
    (backend,) = found(project, "[There are two](claim:start/hello#two) when the caches are empty.")
    assert "name its backend" in backend
    assert not found(project, '[With `backend="eager"`, cold, it is two.](claim:start/hello#two)')
    assert not found(project, "[It is even.](claim:start/hello#even)")


def test_a_snippet_that_ends_early_says_nothing_of_its_sentences(project) -> None:
    listed(project, inductor="start/hello")
    assert not found(project, KEPT)


def test_eagers_result_is_no_name_of_a_backend(project) -> None:
    listed(project, inductor="start/hello#two")
    assert found(project, "[As in eager there are two.](claim:start/hello#two)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ('{"eager": {}}', "unknown part 'eager'"),
        ('{"caches": {"a/b#c": " "}}', "a/b#c has no reason"),
    ],
)
def test_a_list_that_cannot_be_read_says_why(project, text: str, said: str) -> None:
    project.write(flips.FILE, text)
    with pytest.raises(SnippetError, match=said):
        flips.read(project.root)
    assert said in found(project, KEPT)[0]
