"""Define ``tclab claims``: list the sentences that are bound to claims, and where each claim
held.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.table import Table

from tclab.cli import EXIT_STATUS, terminal
from tclab.errors import BadRequest
from tclab.site.cli.project import open_project

# import only for types, because the pages need packages that other commands do not need
if TYPE_CHECKING:
    from tclab.site.pages import book
    from tclab.site.pages.prose import sentences
    from tclab.site.pages.prose.statements import Statement


#: The columns of numbers of a page: its sentences; how many of them are bound, only shown, or
#: neither; the share of bound and shown sentences; its bindings, the claims that they need, and the
#: claims that held.
COLUMNS = ("sentences", "bound", "shown", "neither", "share", "bindings", "claims", "held here")


@click.command(epilog=EXIT_STATUS, short_help="Sentences and the asserts that prove them.")
@click.argument("page", required=False, metavar="[PAGE]")
@click.option("--unbound", is_flag=True, help="List the sentences that nothing carries.")
@click.option("--universal", is_flag=True, help="List those that say every, never, only, no …")
@click.pass_context
def claims(context: click.Context, page: str | None, unbound: bool, universal: bool) -> None:
    """Show the sentences that are bound to claims, page by page, and where each claim held.

    A claim is an assert with a name in a snippet (# claim: name above it); a page binds a
    sentence to it: [The sentence.](claim:topic/snippet#name). Runs that are stale or were
    not made do not count: tclab run makes them. A sentence right before or right after the
    output of a run counts as shown. The share counts the bound and the shown sentences.

    --universal lists the sentences with the word every, never, always, whatever, only, no, all,
    any or none outside of the part that is bound to a claim.

    PAGE is a Markdown file of docs/, or any part of its path; all pages without it. Name a snippet
    or one of its claims instead to list the sentences that rest on it.

    \b
    Examples:
      tclab claims
      tclab claims guards
      tclab claims pipeline/dynamo --unbound
      tclab claims --universal
      tclab claims guards/guards_on_a_size
      tclab claims guards/guards_on_a_size#one-graph
    """
    from tclab.site.pages import book, proofs

    project = open_project(context)
    opened = book.open_stored_book(project.root, project.root / "docs")
    out = terminal.console()
    if page and (asked := _claims_of_snippet(opened, page)):
        rows = [s for s in opened.sentences if not asked.isdisjoint(s.claims)]
        out.print(_sentence_table(opened, rows, asked))
        return
    pages = _find_pages(project.root, page)
    if unbound or universal:
        listed = (
            _universal_sentences(opened, pages) if universal else _unbound_sentences(opened, pages)
        )
        out.print("\n".join(listed), markup=False, highlight=False)
        return
    rows = [s for s in opened.sentences if s.page in pages]
    if page:
        out.print(_sentence_table(opened, rows))
    out.print(_summary_table(opened, pages))
    if problems := [p for p in proofs.problems(opened) if p.place.rpartition(":")[0] in pages]:
        for problem in problems:
            terminal.print_error(problem)
        context.exit(1)


def _claims_of_snippet(opened_book: book.Book, word: str) -> set[tuple[str, str]]:
    """Return the claims of ``topic/snippet`` or ``topic/snippet#claim``; empty if `word` names a
    page.
    """
    name, mark, claim = word.partition("#")
    if name not in opened_book.all_snippets:
        return set()
    snippet = opened_book.all_snippets[name]
    there = [each.name for each in snippet.claims]
    if not there or (mark and claim not in there):
        cause = f"{snippet.file} has no claim {claim!r}" if mark else f"{snippet.file} has no claim"
        raise BadRequest("PAGE", cause, f"it has: {', '.join(there) or 'none'}")
    return {(name, each) for each in there if not mark or each == claim}


def _find_pages(root: Path, part: str | None) -> list[str]:
    """Return the pages with `part` in their path, relative to the project. Raises BadRequest if
    there is no such page.
    """
    docs = root / "docs"
    paths = sorted([*docs.rglob("*.md"), *docs.glob("labs/lab*.py")])
    there = [path.relative_to(root).as_posix() for path in paths]
    pages = [name for name in there if not part or part.removesuffix(".md") in name]
    if not pages:
        raise BadRequest("PAGE", f"no page of docs/ has {part!r} in its path", "see docs/")
    return pages


def _unbound_sentences(opened_book: book.Book, pages: Sequence[str]) -> Iterator[str]:
    """Yield ``page: sentence`` for each sentence that no claim proves and no output shows."""
    for page in pages:
        yield from (
            f"{page}: {s.text}" for s in _list_sentences(opened_book, page) if not s.is_proven
        )


def _universal_sentences(opened_book: book.Book, pages: Sequence[str]) -> Iterator[str]:
    """Yield ``page: words: sentence`` for each sentence with words such as *every* outside a
    claim.
    """
    for page in pages:
        for sentence in _list_sentences(opened_book, page):
            if words := sentence.universal_words:
                yield f"{page}: {', '.join(words)}: {sentence.text}"


def _list_sentences(opened_book: book.Book, page: str) -> Sequence[Statement]:
    """Return the sentences of a page; empty for a lab, whose prose is between cells of code."""
    return opened_book.pages[page].statements if page in opened_book.pages else ()


def _summary_table(opened_book: book.Book, pages: Sequence[str]) -> Table:
    """Return a table with a row for each page, and a row of sums if there are several."""
    table = Table(box=None, pad_edge=False)
    table.add_column("page", overflow="fold")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    counts = [_count_sentences(opened_book, page) for page in pages]
    for page, row in zip(pages, counts, strict=True):
        table.add_row(page, *_format_cells(row))
    if len(pages) > 1:
        table.add_row("all", *_format_cells(list(map(sum, zip(*counts, strict=True)))))
    return table


def _count_sentences(opened_book: book.Book, page: str) -> list[int]:
    """Return the numbers in a row of the summary table, in the order of `COLUMNS`, without the
    share.
    """
    bindings = [s for s in opened_book.sentences if s.page == page]
    needed = list(dict.fromkeys(ref for s in bindings for ref in s.claims))
    proven_claims = sum(bool(_list_environments(opened_book, *ref)) for ref in needed)
    prose = _list_sentences(opened_book, page)
    bound = sum(s.is_bound for s in prose)
    proven = sum(s.is_proven for s in prose)
    kinds = [len(prose), bound, proven - bound, len(prose) - proven]
    return [*kinds, len(bindings), len(needed), proven_claims]


def _format_cells(row: Sequence[int]) -> list[str]:
    sentences, bound, shown, neither, *rest = row
    share = f"{1 - neither / sentences:.0%}" if sentences else "–"
    return [str(sentences), str(bound), str(shown), str(neither), share, *map(str, rest)]


def _sentence_table(
    opened_book: book.Book,
    rows: Sequence[sentences.Sentence],
    selected_claims: Collection[tuple[str, str]] | None = None,
) -> Table:
    """Return a table with a row for each sentence and claim. With `selected_claims`, the table has
    only these claims, each with its page.
    """
    table = Table(box=None, pad_edge=False)
    for name in ("line" if selected_claims is None else "place", "sentence", "claim", "held on"):
        table.add_column(name, overflow="fold")
    for s in rows:
        for snippet, name in (
            c for c in s.claims if selected_claims is None or c in selected_claims
        ):
            sentence = escape(" ".join(s.text.split()))
            environments = (
                "; ".join(_list_environments(opened_book, snippet, name)) or "[red]nowhere[/]"
            )
            line = str(s.line) if selected_claims is None else str(s)
            table.add_row(line, sentence, escape(f"{snippet}#{name}"), environments)
    return table


def _list_environments(opened_book: book.Book, snippet: str, name: str) -> list[str]:
    """Return the environments where the claim held. The environments to which the claim does not
    apply are included, each with the reason: ``cpu-torch2.11: only torch >= 2.12``.
    """
    from tclab.site.pages import claim_checks

    claim = opened_book.all_snippets[snippet].claim(name)
    if claim is None:
        return []
    places = [
        claim_checks.origin(run)
        + ("" if claim.only.holds(run.provenance.version) else f": only {claim.only}")
        for run in opened_book.runs.get(snippet, ())
        if not claim_checks.failure_reason(claim, run)
    ]
    return list(dict.fromkeys(places))
