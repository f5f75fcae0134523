"""Twenty ways to make a sentence false: each ends the build with an error at the sentence's place.

A build's own functions are called, in the order of a build, without MkDocs around them, which would
take most of the time; that a build of MkDocs calls them is seen once, and in the other tests here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from types import SimpleNamespace

import markdown
import pytest
from mkdocs.exceptions import BuildError

from tclab.errors import SnippetError, TclabError
from tclab.model import Run
from tclab.site import snippets
from tclab.site.engine import schedule
from tclab.site.engine.plan import Plan
from tclab.site.pages import binding_html, book, hooks, proofs, state
from tclab.site.store import keys, recordings
from tests.nightly import one_in

from .conftest import Project

ENV = "h200-torch2.11"
SNIPPET = '''"""Count."""

import tclab

n, sizes = 2, [1, 2]
times = {"eager": 1.5, "compiled": 0.75}
tclab.show(tclab.Table("Times", "times", ("what", "median"), tuple(times.items())))
# claim: two
assert n == 2
# claim: later, torch >= 99
assert n == 3
'''
PAGE = f"""# Home

[There are two.](claim:start/hello#two) It takes [](value:start/hello#times/compiled/median).
There, [](value:start/hello@{ENV}#times/eager/median).

```python exec="1" html="1"
from tclab.site.pages import snippet
snippet("start/hello")
```
"""

#: Changes a project that a build would publish.
Mutation = Callable[["Case"], None]


@dataclass
class Case:
    """A project, and the run of its one snippet, which is recorded as well."""

    project: Project
    run: Run

    def snippet(self, before: str, after: str) -> None:
        """Change the snippet, and the recording as if it were of the new one: one that is stale
        would end the build before a sentence is looked at.
        """
        assert SNIPPET.count(before) == 1
        self.project.write("snippets/start/hello.py", SNIPPET.replace(before, after))
        with suppress(SnippetError):
            changed = snippets.get("start/hello", self.project.root)
            self.record(source_key=keys.source_key(changed), rests_on={})

    def page(self, before: str, after: str) -> None:
        assert before in PAGE
        self.project.write("docs/index.md", PAGE.replace(before, after))

    def recording(self, **changes: object) -> None:
        """Change what the recording says of the claim."""
        claims = (replace(c, **changes) if c.name == "two" else c for c in self.run.claims)
        self.record(claims=tuple(claims))

    def record(self, **changes: object) -> None:
        made = replace(self.run.provenance, torch="2.11.0+cu130", gpu="NVIDIA H200")
        run = replace(self.run, environment=ENV, provenance=made, **changes)
        recordings.write(self.project.root, ENV, run)


def of_snippet(before: str, after: str) -> Mutation:
    return lambda case: case.snippet(before, after)


def of_page(before: str, after: str) -> Mutation:
    return lambda case: case.page(before, after)


def dropped(case: Case) -> None:
    case.snippet("# claim: later, torch >= 99\n", "# claim: later\n")
    case.page("#two", "#later")


ASSERT = "assert n == 2\n"
NAMED = f"# claim: two\n{ASSERT}"
VALUE = "times/compiled/median"

#: What is changed, how, and what is said at the sentence's place.
MUTATIONS: dict[str, tuple[Mutation, str]] = {
    "case: another result": (of_snippet("n, sizes = 2", "n, sizes = 4"), "two does not hold"),
    "case: never gets there": (
        of_snippet(NAMED, f"if n == 5:\n    # claim: two\n    {ASSERT}"),
        "two was not reached",
    ),
    "case: nothing to look at": (
        of_snippet(ASSERT, "assert all(size == n for size in sizes[2:])\n"),
        "all() had nothing to look at",
    ),
    "case: an error in the test that is caught": (
        of_snippet(
            NAMED,
            "try:\n    # claim: two\n    assert times['slow'] == n\nexcept KeyError:\n    pass\n",
        ),
        "its test raised KeyError",
    ),
    "case: a loop of no turns": (
        of_snippet(NAMED, f"for n in sizes[2:]:\n    # claim: two\n    {ASSERT}"),
        "two was not reached",
    ),
    "case: false in its last turn": (
        of_snippet(
            NAMED,
            "try:\n    for n in (2, 3):\n        # claim: two\n        assert n == 2\n"
            "except AssertionError:\n    pass\n",
        ),
        "two does not hold",
    ),
    "case: no element of a tensor": (
        of_snippet(NAMED, "import torch\n# claim: two\nassert (torch.ones(0) == n).all()\n"),
        "all() had nothing to look at",
    ),
    "assert: false and swallowed": (
        of_snippet(
            NAMED,
            "from contextlib import suppress\nwith suppress(AssertionError):\n"
            "    # claim: two\n    assert n == 3\n",
        ),
        "two does not hold",
    ),
    "assert: true without a run": (of_snippet(ASSERT, "assert n or True\n"), "cannot fail"),
    "assert: true in any case": (of_snippet(ASSERT, "assert n == 3 or n != 3\n"), "cannot fail"),
    "assert: a thing with itself": (of_snippet(ASSERT, "assert sizes == sizes\n"), "cannot fail"),
    "assert: a default that changes": (
        of_snippet(
            NAMED,
            "def add(size, to=[]):\n    to.append(size)\n    return to\n"
            "# claim: two\nassert add(1) == add(2)\n",
        ),
        "a comparison of one object with itself",
    ),
    "assert: a number with a text": (
        of_snippet(ASSERT, "assert n != '2'\n"),
        "a comparison of int with str, which are never equal",
    ),
    "assert: a mock": (
        of_snippet(
            NAMED,
            "from unittest.mock import MagicMock\n# claim: two\nassert MagicMock().n != n\n",
        ),
        "a comparison with a MagicMock",
    ),
    "assert: an object that equals everything": (
        of_snippet(
            NAMED,
            "class Any:\n    def __eq__(self, other):\n        return True\n"
            "# claim: two\nassert Any() == 3\n",
        ),
        "an Any, whose __eq__ the file itself made up",
    ),
    "assert: an object that is always true": (
        of_snippet(
            NAMED,
            "class Two:\n    def __bool__(self):\n        return True\n"
            "# claim: two\nassert not n == 2 or Two()\n",
        ),
        "a Two, whose __bool__ the file itself made up",
    ),
    "assert: a class of which everything is one": (
        of_snippet(
            NAMED,
            "class Kind(type):\n    def __instancecheck__(cls, other):\n        return True\n"
            "class Three(metaclass=Kind):\n    pass\n"
            "# claim: two\nassert isinstance(n, Three)\n",
        ),
        "a Kind, whose __instancecheck__ the file itself made up",
    ),
    "assert: a text that is no test": (
        of_snippet(ASSERT, "assert bool('n == 3')\n"),
        "cannot fail",
    ),
    "assert: another object than a new one": (
        of_snippet(ASSERT, "assert n is not [2]\n"),
        "cannot fail",
    ),
    "assert: an object of any kind": (
        of_snippet(ASSERT, "assert isinstance(n, (int, object))\n"),
        "cannot fail",
    ),
    "assert: a distance of at least none": (
        of_snippet(ASSERT, "assert abs(n - 3) >= 0\n"),
        "cannot fail",
    ),
    "assert: sorted as it is sorted": (
        of_snippet(ASSERT, "assert sorted(sizes) == sorted(sizes)\n"),
        "cannot fail",
    ),
    "assert: NaN": (of_snippet(ASSERT, "assert n != float('nan')\n"), "a comparison with NaN"),
    "assert: nothing with nothing": (
        of_snippet(ASSERT, "assert times.get('a') == times.get('b')\n"),
        "a comparison of None with None",
    ),
    "assert: it holds nothing": (
        of_snippet(ASSERT, "assert set(sizes).issuperset(sizes[2:])\n"),
        "the set before <= is empty",
    ),
    "assert: a function that is not called": (
        of_snippet(ASSERT, "assert sizes.count\n"),
        "which is true whatever it would say",
    ),
    "assert: a tuple": (
        of_snippet(NAMED, "pair = (n == 3, 'not three')\n# claim: two\nassert pair\n"),
        "a tuple of 2",
    ),
    "assert: in a function": (
        of_snippet(NAMED, f"def check():\n    # claim: two\n    {ASSERT}\ncheck()\n"),
        "stands no assert of the module itself",
    ),
    "assert: gone": (of_snippet(NAMED, ""), "no claim 'two'"),
    "binding: to a claim that is not made": (of_page("#two", "#three"), "no claim 'three'"),
    "binding: to a snippet that is not there": (
        of_page("claim:start/hello", "claim:start/helo"),
        "no snippet 'start/helo'",
    ),
    "binding: with a title": (of_page("#two)", '#two "title")'), "cannot read the binding"),
    "binding: an image": (of_page("[There", "![There"), "is written as an image"),
    "binding: a value as an image": (
        of_page("[](value:start/hello#", "![](value:start/hello#"),
        "is written as an image",
    ),
    "binding: of no words": (of_page("[There are two.]", "[ ]"), "has no sentence"),
    "binding: with another word": (of_page("(claim:", "(claims:"), "is not written as one"),
    "binding: with another colon": (of_page("(claim:", "(claim："), "is not written as one"),
    "binding: with a letter that looks like it": (
        of_page("(claim:", "(cl\N{CYRILLIC SMALL LETTER A}im:"),
        "is not written as one",
    ),
    "binding: behind a character of no width": (
        of_page("(claim:", "(\N{ZERO WIDTH SPACE}claim:"),
        "is not written as one",
    ),
    "binding: spelt as none": (of_page("(claim:", "(CLAIM:"), "is not written as one"),
    "recording: the claim did not hold there": (
        lambda case: case.recording(held=False, broken="three"),
        "two does not hold on PyTorch",
    ),
    "recording: it says why the claim does not hold": (
        lambda case: case.recording(broken="three"),
        "two does not hold on PyTorch",
    ),
    "recording: the claim was not reached there": (
        lambda case: case.recording(reached=0, held=False),
        "two was not reached on PyTorch",
    ),
    "recording: the claim was not there yet": (
        lambda case: case.recording(name="older"),
        f"two was not there yet when {ENV} was recorded",
    ),
    "value: its row is gone": (
        of_snippet('"compiled": 0.75', '"fast": 0.75'),
        "one row 'compiled'",
    ),
    "value: its column is gone": (of_page(VALUE, "times/compiled/mean"), "one column 'mean'"),
    "value: of one of two tables": (
        of_snippet(
            NAMED,
            "tclab.show(tclab.Table('More', 'times', ('what', 'median'), (('compiled', 9),)))\n"
            f"{NAMED}",
        ),
        "shows more than one table 'times'",
    ),
    "value: its cell is empty": (of_snippet('"compiled": 0.75', '"compiled": None'), "no value"),
    "value: its cell is blank": (of_snippet('"compiled": 0.75', '"compiled": " – "'), "no value"),
    "value: of an environment that is not there": (of_page(f"@{ENV}", "@a100"), "no run of 'a100'"),
    "version clause: dropped from what holds later": (dropped, "later does not hold"),
    "version clause: one that no PyTorch meets": (
        of_snippet("# claim: two\n", "# claim: two, torch >= 2.14, torch < 2.12\n"),
        "no PyTorch meets torch >= 2.14, torch < 2.12",
    ),
}


@pytest.fixture
def case(project, monkeypatch) -> Case:
    monkeypatch.delenv("TCLAB_STORE", raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # a build sets it, where it is not set
    project.write("snippets/start/hello.py", SNIPPET)
    project.write("docs/index.md", PAGE)
    made = schedule.run(snippets.find(project.root), Plan(project.root), warm=False)
    case = Case(project, made["start/hello"])
    case.record()
    return case


def errors(project: Project) -> str:
    """What ends a build of the project; '' where it would be published."""
    root = project.root
    paths = {"config_file_path": "mkdocs.yml", "docs_dir": "docs", "site_dir": "site"}
    config = SimpleNamespace(**{name: str(root / path) for name, path in paths.items()})
    try:
        hooks.open_build(config, book.open_book)
    except BuildError as error:
        return str(error)
    return "\n".join(map(str, page_problems()))


def page_problems() -> Iterator[TclabError]:
    """What a build finds as it makes the pages."""
    opened = state.build().book
    for path, text in opened.pages.items():
        try:
            linked = proofs.link_proofs(text, "index.html", opened)
        except TclabError as error:
            yield error
        else:
            yield from binding_html.find_leftover_bindings(markdown.markdown(linked), path, text)


def test_what_is_true_is_published(case) -> None:
    assert errors(case.project) == ""
    assert case.project.build("--strict").returncode == 0


def test_there_are_twenty_ways_and_of_each_kind() -> None:
    kinds = [name.partition(":")[0] for name in MUTATIONS]
    assert len(kinds) >= 20
    assert set(kinds) == {"case", "assert", "binding", "recording", "value", "version clause"}


def test_a_figure_that_is_edited_by_hand_ends_the_build(case) -> None:
    (path,) = case.project.root.glob(f"records/{ENV}/start/hello/*times.json")
    path.write_text(path.read_text().replace("1.5", "2.5"))
    name = f"records/{ENV}/start/hello/{path.name}"
    assert f"{name}: was truncated or edited after it was written" in errors(case.project)


@pytest.mark.parametrize("name", one_in(2, MUTATIONS))
def test_what_is_false_ends_the_build_at_its_sentence(case, name: str) -> None:
    mutate, said = MUTATIONS[name]
    mutate(case)
    found = errors(case.project)
    place = rf"^docs/index\.md:[34]: .*{re.escape(said)}.*\n  next: "
    assert re.search(place, found, re.MULTILINE), found
