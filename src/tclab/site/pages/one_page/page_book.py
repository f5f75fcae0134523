"""Open the book of one page, with only the snippets and runs that the page needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tclab.errors import PageError, SnippetError, TclabError
from tclab.site import snippets
from tclab.site.engine.plan import Plan
from tclab.site.labs import source as labs
from tclab.site.pages.book import Book, Problems, Runner, choose_runs, choose_stored_runs
from tclab.site.pages.prose import text
from tclab.site.pages.prose.text import PageText

#: A snippet's name, and the place that needs it.
_Need = tuple[str, str]


def open_page(root: Path, docs: Path, page: str, run: Runner) -> Book:
    """Open the book for one page, such as docs/x.md: run the stale snippets that the page shows.

    Other snippets are not run: their runs come from the store and the recordings. The page needs
    such runs if it only cites a snippet, or if it lists what all pages show. Other pages are read,
    and left out if they are unreadable. Raises Problems as `open_book` does.
    """
    book = Book(Plan(root), docs)
    pages = {each.page: each for each in text.read_pages(docs, root)}
    book.pages = {name: each for name, each in pages.items() if name == page or _is_readable(each)}
    try:
        book.uses = [use for each in book.pages.values() for use in each.uses]
        shown = dict(_shown_snippets(book, book.pages[page]))
        cited = dict(_cited_snippets(book, book.pages[page]))
    except TclabError as error:
        raise Problems([error]) from None
    _read_snippets(book, cited | shown)
    _keep_known_sentences(book)
    only_cited = {name: s for name, s in book.snippets.items() if name not in shown}
    book.snippets = {name: s for name, s in book.snippets.items() if name in shown}
    choose_runs(book, run)
    book.snippets |= only_cited
    choose_stored_runs(book, only_cited.values())
    if any(call.kind.uses_other_pages for block in book.pages[page].blocks for call in block.calls):
        others = [s for s in snippets.read_all(root)[0] if s.name not in book.snippets]
        book.snippets |= {snippet.name: snippet for snippet in others}
        choose_stored_runs(book, others)
        _keep_known_sentences(book)
    return book


def _keep_known_sentences(book: Book) -> None:
    """Keep only the sentences whose snippets are in the book."""
    sentences = (s for page in book.pages.values() for s in page.sentences)
    book.sentences = [
        s for s in sentences if all(name in book.all_snippets for name, _ in s.claims)
    ]


def _is_readable(page: PageText) -> bool:
    try:
        return isinstance(page.uses + page.sentences, tuple)
    except PageError:
        return False


def without_runs(book: Book, page: PageText) -> list[str]:
    """Return the sorted names of the snippets that the page only cites and that have no fresh
    run.
    """
    return sorted({name for name, _ in _cited_snippets(book, page) if not book.runs.get(name)})


def has_explorer_run(book: Book, page: PageText) -> bool:
    """Return whether the function to which a chapter links has a run."""
    return any(book.runs.get(name) for name, _ in _explorer_functions(book, page))


def _shown_snippets(book: Book, page: PageText) -> Iterator[_Need]:
    """Yield the snippets that the page shows in its blocks and numbers."""
    yield from ((use.snippet, str(use)) for use in page.uses)
    yield from ((value.snippet, str(value)) for value in page.values)
    calls = {call.function for block in page.blocks for call in block.calls}
    if calls & {"beliefs", "changes"}:
        yield from ((use.snippet, str(use)) for use in book.uses if use.function == "verdicts")


def _cited_snippets(book: Book, page: PageText) -> Iterator[_Need]:
    """Yield the snippets that prove the page's sentences, and the snippet of the function to which
    the page links.
    """
    yield from ((name, str(s)) for s in page.sentences for name, _ in s.claims)
    yield from _explorer_functions(book, page)


def _explorer_functions(book: Book, page: PageText) -> Iterator[_Need]:
    explorer = f"{book.docs.name}/{page.meta.get('explorer')}"
    for use in book.uses:
        if use.page == explorer and use.function == "show":
            yield use.snippet, str(use)


def _read_snippets(book: Book, needs: dict[str, str]) -> None:
    """Read the snippets and labs with these names. Raises Problems if one does not exist."""
    problems: list[TclabError] = []
    if any(name.startswith("labs/") for name in needs):
        found = labs.find(book.root)
        book.labs = {lab.snippet.name: lab for lab in found if lab.snippet.name in needs}
    for name, place in needs.items():
        if name not in book.labs:
            try:
                book.snippets[name] = snippets.get(name, book.root)
            except SnippetError as error:
                is_missing = error.place == name  # the error says that no snippet has this name
                problems.append(PageError(place, f"there is no snippet {name!r}", error.next_step)
                                if is_missing else error)  # fmt: skip
    if problems:
        raise Problems(problems)
