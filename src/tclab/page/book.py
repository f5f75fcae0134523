"""Everything the pages of one build can show: the snippets, where each is used, its runs.

`open_book` is what happens before a page is rendered: find what the pages use, run
what is stale, choose the runs. It raises `Problems` with all that is wrong at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tclab import claims, machine, snippets
from tclab.engine import schedule
from tclab.errors import PageError, RunFailed, StoreError, TclabError
from tclab.model import Provenance, Run, Snippet
from tclab.page.prose import sentences, uses
from tclab.store import recordings
from tclab.store.live import Store


class Problems(Exception):
    """All that is wrong with a site, each with place, cause and next step."""

    def __init__(self, problems: Iterable[TclabError]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


@dataclass
class Book:
    """What the pages of one build can show. `runs` has the chosen runs of each snippet."""

    root: Path
    docs: Path
    store: Store
    here: Provenance
    snippets: dict[str, Snippet] = field(default_factory=dict)
    uses: list[uses.Use] = field(default_factory=list)
    sentences: list[sentences.Sentence] = field(default_factory=list)
    runs: dict[str, tuple[Run, ...]] = field(default_factory=dict)
    ran: tuple[str, ...] = ()  # what was stale and ran for this build

    @property
    def store_path(self) -> Path:
        """The folder of what builds keep; nothing in it is needed for a correct build."""
        return self.store.path

    def snippet(self, name: str, place: str) -> Snippet:
        """The snippet called `name`; a PageError at `place` suggests near names."""
        try:
            return self.snippets[name]
        except KeyError:
            raise missing(name, place, self.snippets) from None

    def shown(self, name: str, place: str) -> tuple[Run, ...]:
        """The runs to show of snippet `name`: never stale, never failed, never none."""
        snippet = self.snippet(name, place)
        if not self.runs.get(name):
            raise no_run(snippet, place, machine.missing_needs(snippet))
        return self.runs[name]


def missing(name: str, place: str, known: Iterable[str]) -> PageError:
    """The error of a page that names a snippet there is not."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "tclab list shows what there is"
    return PageError(place, f"there is no snippet {name!r}", f"{hint} Or write snippets/{name}.py")


def no_run(snippet: Snippet, place: str, needs: Iterable[str]) -> RunFailed:
    """The error of a snippet that can neither run here nor be shown from a recording."""
    cause = f"snippets/{snippet.name}.py needs {', '.join(sorted(needs)) or 'a run'}"
    step = f"record it on a machine that has it: tclab record ENVIRONMENT {snippet.name}"
    return RunFailed(place, f"{cause}, which is not here, and has no fresh recording", step)


# --------------------------------------------------------------------------- opening


def open_book(
    root: Path, docs: Path, run: Callable[[Book, list[Snippet]], dict[str, Run]] | None = None
) -> Book:
    """Read pages, snippets and recordings, run what is stale (with `run`), choose.

    Problems that need no run to be seen are raised before anything runs.
    """
    book = Book(root, docs, Store.of(root), machine.here())
    _raise(_read(book))
    _raise(_recordings(book))
    live = _live(book, run or run_here)
    failed = [one for one in live.values() if not one.ok]
    _raise(p for one in failed for p in (_failed(book, one), *_false(book, one)))
    for name, recorded in book.runs.items():
        book.runs[name] = _shown(live.get(name), recorded)
    return book


def stored(root: Path, docs: Path) -> Book:
    """The book as far as nothing need be run: recordings, and fresh runs from the store."""
    book = Book(root, docs, Store.of(root), machine.here())
    _raise(_read(book))
    _recordings(book)
    for name, snippet in book.snippets.items():
        book.runs[name] = _shown(_stored(book, snippet), book.runs.get(name, ()))
    return book


def _raise(problems: Iterable[TclabError]) -> None:
    found = list(problems)
    if found:
        raise Problems(found)


def _read(book: Book) -> list[TclabError]:
    """Fill in snippets and uses; what is wrong with them."""
    problems: list[TclabError] = []
    try:
        book.snippets = {s.name: s for s in snippets.find(book.root)}
        book.uses = uses.in_folder(book.docs, book.root)
        book.sentences = sentences.in_folder(book.docs, book.root)
    except TclabError as error:
        return [error]
    problems += [
        missing(use.snippet, str(use), book.snippets)
        for use in book.uses
        if use.snippet not in book.snippets
    ]
    problems += [
        missing(name, str(sentence), book.snippets)
        for sentence in book.sentences
        for name, _ in sentence.claims
        if name not in book.snippets
    ]
    used = {use.snippet for use in book.uses}
    problems += [_orphan(name) for name in book.snippets if name not in used]
    return problems


def _orphan(name: str) -> PageError:
    cause = "no page uses this snippet"
    return PageError(f"snippets/{name}.py:1", cause, f'show it: snippet("{name}"), or remove it')


def _recordings(book: Book) -> list[TclabError]:
    """Read the recordings into the book; what is wrong with them, and which are missing."""
    problems: list[TclabError] = list(recordings.orphans(book.root, book.snippets.values()))
    for name, snippet in book.snippets.items():
        wrong = recordings.problems(book.root, snippet)
        problems += wrong
        book.runs[name] = () if wrong else tuple(recordings.load_all(book.root, snippet))
        needs = machine.missing_needs(snippet)
        if needs and not wrong and not book.runs[name]:
            problems.append(no_run(snippet, _first_use(book, name), needs))
    return problems


def run_here(book: Book, stale: list[Snippet]) -> dict[str, Run]:
    """Run `stale` without progress."""
    return schedule.run(stale, root=book.root, store=book.store)


def _live(book: Book, run: Callable[[Book, list[Snippet]], dict[str, Run]]) -> dict[str, Run]:
    """The local runs of what can run here: fresh ones from the store, the others run now."""
    able = [s for s in book.snippets.values() if not machine.missing_needs(s)]
    stored = {s.name: _stored(book, s) for s in able}
    fresh = {name: run for name, run in stored.items() if run is not None and run.ok}
    stale = [s for s in able if s.name not in fresh]
    book.ran = tuple(s.name for s in stale)
    return fresh | (run(book, stale) if stale else {})


def _stored(book: Book, snippet: Snippet) -> Run | None:
    """The stored run that still holds; a damaged one counts as none."""
    try:
        return book.store.fresh(snippet, book.here)
    except StoreError:
        return None


def _shown(live: Run | None, recorded: Iterable[Run]) -> tuple[Run, ...]:
    """The live run first, then each recording that was made on anything else."""
    runs = [live] if live else []
    seen = {_made_on(run) for run in runs}
    return (*runs, *(run for run in recorded if _made_on(run) not in seen))


def _made_on(run: Run) -> tuple[str, str]:
    return run.provenance.gpu, run.provenance.torch


def _failed(book: Book, run: Run) -> RunFailed:
    """A failed run, with the page that wanted it, the line it failed on and why."""
    failure = run.failure
    assert failure is not None
    where = failure.location or f"snippets/{run.snippet}.py"
    cause = f"{where}: {failure.cause}: {failure.message}"
    step = f"correct the snippet, then see it alone: tclab run {run.snippet}"
    return RunFailed(_first_use(book, run.snippet), cause, step)


def _false(book: Book, run: Run) -> Iterator[PageError]:
    """The sentences that a failed run makes false."""
    false = {c.name: c for c in claims.false(run.claims, run.provenance.torch)}
    for sentence in book.sentences:
        for name, claim in sentence.claims:
            if name == run.snippet and claim in false:
                line = f"snippets/{name}.py:{false[claim].line}"
                cause = f"no longer true: “{' '.join(sentence.text.split())}” ({line}, {claim})"
                yield PageError(str(sentence), cause, "correct the sentence and the claim")


def _first_use(book: Book, name: str) -> str:
    return next((str(use) for use in book.uses if use.snippet == name), f"snippets/{name}.py:1")
