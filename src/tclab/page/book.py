"""Everything the pages of one build can show: the snippets, where each is used, its runs.

`open_book` is what happens before a page is rendered: find what the pages use, run
what is stale, choose the runs. It raises `Problems` with all that is wrong at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tclab import claims, snippets
from tclab.engine import failures, schedule
from tclab.engine.plan import Plan
from tclab.errors import PageError, RunFailed, TclabError
from tclab.labs import source as labs
from tclab.labs.source import Lab
from tclab.model import Provenance, Run, Snippet, slug
from tclab.page import alike, verdict
from tclab.page.prose import text
from tclab.page.prose.sentences import Sentence
from tclab.page.prose.text import PageText
from tclab.page.prose.uses import Use
from tclab.store import checksums, recordings
from tclab.store.status import Status
from tclab.versions import records
from tclab.versions.records import VersionRecord


class Problems(Exception):
    """All that is wrong with a site, each with place, cause and next step."""

    def __init__(self, problems: Iterable[TclabError]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


@dataclass
class Book:
    """What the pages of one build can show. `runs` has the chosen runs of each snippet."""

    plan: Plan
    docs: Path
    snippets: dict[str, Snippet] = field(default_factory=dict)
    labs: dict[str, Lab] = field(default_factory=dict)  # by the name of their runs
    pages: dict[str, PageText] = field(default_factory=dict)  # by path: docs/x.md
    cells: dict[tuple[str, int], PageText] = field(default_factory=dict)  # by file and line
    uses: list[Use] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)
    runs: dict[str, tuple[Run, ...]] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.plan.root

    @property
    def here(self) -> Provenance:
        return self.plan.here

    @property
    def store_path(self) -> Path:
        """The folder of what builds keep; nothing in it is needed for a correct build."""
        return self.plan.store.path

    @cached_property
    def versions(self) -> tuple[VersionRecord, ...]:
        """What each PyTorch made of the snippets, as it is recorded; read once a build."""
        return tuple(records.every(self.root / "records" / records.FOLDER))

    def url(self, page: str) -> str:
        """``x/y.html`` of ``docs/x/y.md``: a page's address from the site's root."""
        return f"{page.removeprefix(f'{self.docs.name}/').removesuffix('.md')}.html"

    def page_at(self, url: str) -> PageText | None:
        """The page of Markdown with this address; None where it is made of something else."""
        return self.pages.get(f"{self.docs.name}/{url.removesuffix('.html')}.md")

    def snippet(self, name: str, place: str) -> Snippet:
        """The snippet called `name`; a PageError at `place` suggests near names."""
        try:
            return self.all[name]
        except KeyError:
            raise missing(name, place, self.all) from None

    @property
    def all(self) -> dict[str, Snippet]:
        """The snippets and the labs: all that runs for the pages."""
        return self.snippets | {name: lab.snippet for name, lab in self.labs.items()}

    def runs_of(self, name: str, place: str) -> tuple[Run, ...]:
        """The runs to show of snippet `name`: never stale, never failed, never none."""
        snippet = self.snippet(name, place)
        if not self.runs.get(name):
            raise no_run(self.plan.live(snippet), place)
        return self.runs[name]


def missing(name: str, place: str, known: Iterable[str]) -> PageError:
    """The error of a page that names a snippet there is not."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "tclab list shows what there is"
    return PageError(place, f"there is no snippet {name!r}", f"{hint} Or write snippets/{name}.py")


def no_run(live: Status, place: str) -> RunFailed:
    """The error of a snippet that can neither run here nor be shown from a recording."""
    name = live.snippet.name
    needs = ", ".join(live.why) if live.state == "lacking" else "a run"
    cause = f"{live.snippet.file} needs {needs}"
    step = f"record it on a machine that has it: tclab record ENVIRONMENT {name}"
    return RunFailed(place, f"{cause}, which is not here, and has no fresh recording", step)


# --------------------------------------------------------------------------- opening


#: Runs what is stale of a book; the run of each.
Runner = Callable[[Book, list[Snippet]], dict[str, Run]]


def open_book(root: Path, docs: Path, run: Runner | None = None) -> Book:
    """Read pages, snippets and recordings, run what is stale (with `run`), choose.

    Problems that need no run to be seen are raised before anything runs.
    """
    book = Book(Plan(root), docs)
    _raise(_read(book))
    _raise([*checksums.problems(root), *_recordings(book)])
    live = _live(book, run or run_here)
    _raise(problem for one in live.values() if not one.ok for problem in _failed(book, one))
    for name in book.all:
        book.runs[name] = alike.in_order(live.get(name), book.runs.get(name, ()))
    return book


def stored(root: Path, docs: Path) -> Book:
    """The book as far as nothing need be run: recordings, and fresh runs from the store."""
    book = Book(Plan(root), docs)
    _raise(_read(book))
    _recordings(book)
    for name, snippet in book.all.items():
        book.runs[name] = alike.in_order(book.plan.fresh_run(snippet), book.runs.get(name, ()))
    return book


def _raise(problems: Iterable[TclabError]) -> None:
    listed = list(problems)
    if listed:
        raise Problems(listed)


def _read(book: Book) -> list[TclabError]:
    """Fill in snippets and pages; what is wrong with them."""
    problems: list[TclabError] = []
    try:
        found, unreadable = snippets.survey(book.root)
        problems += unreadable.values()
        book.snippets = {snippet.name: snippet for snippet in found}
        book.labs = {lab.snippet.name: lab for lab in labs.find(book.root)}
        book.pages = {page.page: page for page in text.in_folder(book.docs, book.root)}
        cells = [cell for lab in book.labs.values() for cell in text.in_lab(lab)]
        book.cells = {(cell.page, cell.first_line): cell for cell in cells}
        book.uses = [use for page in book.pages.values() for use in page.uses]
        book.sentences = [s for page in (*book.pages.values(), *cells) for s in page.sentences]
    except TclabError as error:
        problems.append(error)
    if problems:
        return problems
    problems += [
        missing(use.snippet, str(use), book.snippets)
        for use in book.uses
        if use.snippet not in book.snippets
    ]
    problems += [
        missing(name, str(sentence), book.snippets)
        for sentence in book.sentences
        for name, _ in sentence.claims
        if name not in book.all
    ]
    used = {use.snippet for use in book.uses}
    problems += [_orphan(name) for name in book.snippets if name not in used]
    problems += _same_anchors(book.all)
    return problems


def _same_anchors(names: Iterable[str]) -> Iterator[PageError]:
    """Snippets whose names differ, and whose anchors on a page do not."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(slug(name), name)
        if other != name:
            cause = f"on a page its anchor is #{slug(name)}, and so is that of {other}"
            yield PageError(f"snippets/{name}.py:1", cause, "rename one of the two")


def _orphan(name: str) -> PageError:
    cause = "no page uses this snippet"
    return PageError(f"snippets/{name}.py:1", cause, f'show it: snippet("{name}"), or remove it')


def _recordings(book: Book) -> list[TclabError]:
    """Read the recordings into the book; what is wrong with them, and which are missing."""
    problems: list[TclabError] = list(recordings.orphans(book.root, book.snippets.values()))
    for name, snippet in book.snippets.items():
        recorded, live = book.plan.recordings(snippet), book.plan.live(snippet)
        wrong = [status.problem for status in recorded if status.problem]
        problems += wrong
        book.runs[name] = () if wrong else tuple(status.run() for status in recorded)
        if live.state == "lacking" and not recorded and not _awaited(book, name):
            problems.append(no_run(live, _first_use(book, name)))
    return problems


def _awaited(book: Book, name: str) -> bool:
    """Whether all pages that use a snippet say themselves that no machine has run it."""
    return {use.function for use in book.uses if use.snippet == name} == {"awaited"}


def run_here(book: Book, stale: list[Snippet]) -> dict[str, Run]:
    """Run `stale` without progress."""
    return schedule.run(stale, book.plan)


def _live(book: Book, run: Runner) -> dict[str, Run]:
    """The local runs of what can run here: fresh ones from the store, the others run now."""
    runs = {name: book.plan.fresh_run(snippet) for name, snippet in book.all.items()}
    fresh = {name: kept for name, kept in runs.items() if kept is not None}
    stale = book.plan.to_run(s for s in book.all.values() if s.name not in fresh)
    return fresh | (run(book, stale) if stale else {})


def _failed(book: Book, run: Run) -> Iterator[TclabError]:
    """A failed run, at the page that wants it, and the sentences that it makes false."""
    yield failures.error(run, _first_use(book, run.snippet))
    false = {c.name: c for c in claims.false(run.claims, run.provenance.version)}
    for sentence in book.sentences:
        for name, claim in sentence.claims:
            if name == run.snippet and claim in false:
                yield from verdict.problems(sentence, book.all[name], false[claim], run)


def _first_use(book: Book, name: str) -> str:
    own = book.all[name].file
    return next((str(use) for use in book.uses if use.snippet == name), f"{own}:1")
