"""Open the book: all snippets of one build, the pages that use them, and their runs.

`open_book` runs before a page is rendered: it finds the snippets that the pages use, runs the stale
ones and chooses the runs. It raises one `Problems` with all problems.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tclab.errors import PageError, RunFailed, TclabError
from tclab.model import Provenance, Run, Snippet, slug
from tclab.site import snippets
from tclab.site.engine import failures, schedule
from tclab.site.engine.plan import Plan
from tclab.site.labs import source as labs
from tclab.site.labs.source import Lab
from tclab.site.pages import claim_checks, run_groups
from tclab.site.pages.prose import text
from tclab.site.pages.prose.blocks import Call
from tclab.site.pages.prose.sentences import Sentence
from tclab.site.pages.prose.text import PageText
from tclab.site.snippets import claims
from tclab.site.store import checksums, recordings
from tclab.site.store.status import Status
from tclab.site.versions import records
from tclab.site.versions.records import VersionRecord


class Problems(Exception):
    """All problems of a site, each with place, cause and next step."""

    def __init__(self, problems: Iterable[TclabError]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


@dataclass
class Book:
    """The snippets, pages and runs of one build. `runs` has the chosen runs of each snippet."""

    plan: Plan
    docs: Path
    snippets: dict[str, Snippet] = field(default_factory=dict)
    labs: dict[str, Lab] = field(default_factory=dict)  # the labs by the names of their runs
    pages: dict[str, PageText] = field(default_factory=dict)  # the pages by path, such as docs/x.md
    # the Markdown cells of labs by file and line
    cells: dict[tuple[str, int], PageText] = field(default_factory=dict)
    uses: list[Call] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)
    runs: dict[str, tuple[Run, ...]] = field(default_factory=dict)
    # the local runs that were unsteady, in whose place the pages show recordings
    unsteady: dict[str, Run] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.plan.root

    @property
    def here(self) -> Provenance:
        return self.plan.here

    @property
    def store_path(self) -> Path:
        """The folder where builds keep caches. A build is correct without this folder, too."""
        return self.plan.store.path

    @cached_property
    def versions(self) -> tuple[VersionRecord, ...]:
        """The recorded results of the snippets on each PyTorch, read once per build."""
        return tuple(records.read_all(self.root / "records" / records.FOLDER))

    def url(self, page: str) -> str:
        """Return a page's address from the site's root: ``x/y.html`` for ``docs/x/y.md``."""
        return f"{page.removeprefix(f'{self.docs.name}/').removesuffix('.md')}.html"

    def page_at(self, url: str) -> PageText | None:
        """Return the Markdown page with this address; None if the page is not made from
        Markdown.
        """
        return self.pages.get(f"{self.docs.name}/{url.removesuffix('.html')}.md")

    def snippet(self, name: str, place: str) -> Snippet:
        """Return the snippet called `name`. Raises PageError at `place`, with similar names, if
        there is none.
        """
        try:
            return self.all_snippets[name]
        except KeyError:
            raise unknown_snippet(name, place, self.all_snippets) from None

    @property
    def all_snippets(self) -> dict[str, Snippet]:
        """All snippets by name, including the labs' snippets."""
        return self.snippets | {name: lab.snippet for name, lab in self.labs.items()}

    def select_runs(self, name: str, place: str) -> tuple[Run, ...]:
        """Return the runs to show for snippet `name`: at least one run, and none that is stale or
        failed.
        """
        snippet = self.snippet(name, place)
        if not self.runs.get(name):
            raise missing_run(self.plan.local_status(snippet), place)
        return self.runs[name]


def unknown_snippet(name: str, place: str, known_names: Iterable[str]) -> PageError:
    """Return the error for a page that names a snippet that does not exist."""
    names = sorted(known_names)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "tclab list shows what there is"
    return PageError(place, f"there is no snippet {name!r}", f"{hint} Or write snippets/{name}.py")


def missing_run(live: Status, place: str) -> RunFailed:
    """Return the error for a snippet that cannot run here and has no recording."""
    name = live.snippet.name
    needs = ", ".join(live.why) if live.state == "lacking" else "a run"
    cause = f"{live.snippet.file} needs {needs}"
    step = f"record it on a machine that has it: tclab record ENVIRONMENT {name}"
    return RunFailed(place, f"{cause}, which is not here, and has no fresh recording", step)


# --------------------------------------------------------------------------- opening


#: A function that runs the stale snippets of a book; it returns their runs by name.
Runner = Callable[[Book, list[Snippet]], dict[str, Run]]


def open_book(root: Path, docs: Path, run: Runner | None = None) -> Book:
    """Read pages, snippets and recordings, run the stale snippets with `run`, and choose the runs
    to show.

    Raises Problems before any run if a problem, such as an unknown snippet, is already known then.
    """
    book = Book(Plan(root), docs)
    _raise_problems(_read_sources(book))
    choose_runs(book, run or run_here, recordings.find_orphans(root, book.snippets.values()))
    return book


def choose_runs(book: Book, runner: Runner, problems: Iterable[TclabError] = ()) -> None:
    """Run the stale snippets of the book, and choose the runs that its pages show.

    Raises Problems if a recording or a run is missing or bad. If `problems` is not empty, no
    snippet runs.
    """
    _raise_problems([*checksums.find_problems(book.root), *problems, *_read_recordings(book)])
    live = _local_runs(book, runner)
    for name in [name for name, run in live.items() if book.plan.is_replaced(run)]:
        book.unsteady[name] = live.pop(name)
    _raise_problems(
        problem
        for local_run in live.values()
        if not local_run.ok
        for problem in _failure_problems(book, local_run)
    )
    for name in book.all_snippets:
        book.runs[name] = run_groups.order_runs(live.get(name), book.runs.get(name, ()))


def open_stored_book(root: Path, docs: Path) -> Book:
    """Open the book with recordings and fresh runs from the store; run no snippet."""
    book = Book(Plan(root), docs)
    _raise_problems(_read_sources(book))
    choose_stored_runs(book, book.all_snippets.values())
    return book


def choose_stored_runs(book: Book, chosen: Iterable[Snippet]) -> None:
    """Choose runs for these snippets from the store and the recordings; run no snippet."""
    for snippet in chosen:
        statuses = [status for status in book.plan.recorded_statuses(snippet) if not status.problem]
        runs = tuple(status.run() for status in statuses)
        book.runs[snippet.name] = run_groups.order_runs(book.plan.fresh_run(snippet), runs)


def _raise_problems(problems: Iterable[TclabError]) -> None:
    listed = list(problems)
    if listed:
        raise Problems(listed)


def _read_sources(book: Book) -> list[TclabError]:
    """Read the snippets and pages into the book; return their problems."""
    problems: list[TclabError] = []
    try:
        found, unreadable = snippets.read_all(book.root)
        problems += unreadable.values()
        book.snippets = {snippet.name: snippet for snippet in found}
        book.labs = {lab.snippet.name: lab for lab in labs.find(book.root)}
        book.pages = {page.page: page for page in text.read_pages(book.docs, book.root)}
        cells = [cell for lab in book.labs.values() for cell in text.read_lab_cells(lab)]
        book.cells = {(cell.page, cell.first_line): cell for cell in cells}
        book.uses = [use for page in book.pages.values() for use in page.uses]
        book.sentences = [s for page in (*book.pages.values(), *cells) for s in page.sentences]
    except TclabError as error:
        problems.append(error)
        return problems
    if problems:
        unread = ((s, unreadable.get(name)) for s in book.sentences for name, _ in s.claims)
        return [
            *problems,
            *(claim_checks.unreadable_snippet(s, error) for s, error in unread if error),
        ]
    problems += [
        unknown_snippet(use.snippet, str(use), book.snippets)
        for use in book.uses
        if use.snippet not in book.snippets
    ]
    problems += [
        unknown_snippet(name, str(sentence), book.snippets)
        for sentence in book.sentences
        for name, _ in sentence.claims
        if name not in book.all_snippets
    ]
    used = {use.snippet for use in book.uses}
    problems += [_unused_snippet(name) for name in book.snippets if name not in used]
    problems += _anchor_clashes(book.all_snippets)
    return problems


def _anchor_clashes(names: Iterable[str]) -> Iterator[PageError]:
    """Yield an error for each snippet whose anchor on a page equals that of a snippet with another
    name.
    """
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(slug(name), name)
        if other != name:
            cause = f"on a page its anchor is #{slug(name)}, and so is that of {other}"
            yield PageError(f"snippets/{name}.py:1", cause, "rename one of the two")


def _unused_snippet(name: str) -> PageError:
    cause = "no page uses this snippet"
    return PageError(f"snippets/{name}.py:1", cause, f'show it: snippet("{name}"), or remove it')


def _read_recordings(book: Book) -> list[TclabError]:
    """Read the recordings into the book; return errors for bad and missing ones."""
    problems: list[TclabError] = []
    for name, snippet in book.snippets.items():
        statuses, live = book.plan.recorded_statuses(snippet), book.plan.local_status(snippet)
        wrong = [status.problem for status in statuses if status.problem]
        problems += wrong
        book.runs[name] = () if wrong else tuple(status.run() for status in statuses)
        if live.state == "lacking" and not statuses:
            problems.append(missing_run(live, _first_use(book, name)))
    return problems


def run_here(book: Book, stale: list[Snippet]) -> dict[str, Run]:
    """Run the `stale` snippets on this machine without showing progress."""
    return schedule.run(stale, book.plan)


def _local_runs(book: Book, run: Runner) -> dict[str, Run]:
    """Return the local runs of all snippets that can run here. Fresh runs are from the store; the
    others run now.
    """
    runs = {name: book.plan.fresh_run(snippet) for name, snippet in book.all_snippets.items()}
    fresh = {name: stored for name, stored in runs.items() if stored is not None}
    stale = book.plan.snippets_to_run(s for s in book.all_snippets.values() if s.name not in fresh)
    return fresh | (run(book, stale) if stale else {})


def _failure_problems(book: Book, run: Run) -> Iterator[TclabError]:
    """Yield the errors of a failed run: one for the page that needs the run, and one for each false
    sentence.
    """
    yield failures.make_error(run, _first_use(book, run.snippet))
    false_claims = {c.name: c for c in claims.false_claims(run.claims, run.provenance.version)}
    for sentence in book.sentences:
        for name, claim in sentence.claims:
            if name == run.snippet and claim in false_claims:
                yield from claim_checks.check_claim(
                    sentence, book.all_snippets[name], false_claims[claim], run
                )


def _first_use(book: Book, name: str) -> str:
    file = book.all_snippets[name].file
    return next((str(use) for use in book.uses if use.snippet == name), f"{file}:1")
