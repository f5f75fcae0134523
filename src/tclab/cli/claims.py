"""``tclab claims``: which sentences of the pages are bound to claims, and where each held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.table import Table

from tclab import terminal
from tclab.cli.project import EXIT_STATUS, project
from tclab.errors import BadRequest

if TYPE_CHECKING:  # the pages need the site's packages, which the other commands do without
    from tclab.page import book
    from tclab.page.prose import sentences
    from tclab.page.prose.unbound import Written


#: Of a page: its sentences, how many are bound, shown only, neither, and the share of the first
#: two; its bindings, the claims they need, and how many of those held.
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
    not made do not count: tclab run makes them. What stands right before or right after the
    output of a run is shown by it; the share is of sentences that are bound or shown.

    --universal lists the sentences that say every, never, always, whatever, only, no, all, any
    or none where no claim carries the word, though it may carry another part.

    PAGE is a Markdown file of docs/, or any part of its path; all pages without it.

    \b
    Examples:
      tclab claims
      tclab claims guards
      tclab claims pipeline/dynamo --unbound
      tclab claims --universal
    """
    from tclab.page import book, proofs

    lab = project(context)
    opened = book.stored(lab.root, lab.root / "docs")
    pages = _pages(lab.root, page)
    out = terminal.console()
    if unbound or universal:
        listed = _universal(opened, pages) if universal else _unbound(opened, pages)
        out.print("\n".join(listed), markup=False, highlight=False)
        return
    rows = [s for s in opened.sentences if s.page in pages]
    if page:
        out.print(_sentences(opened, rows))
    out.print(_summary(opened, pages))
    if problems := [p for p in proofs.problems(opened) if p.place.rpartition(":")[0] in pages]:
        for problem in problems:
            terminal.error(problem)
        context.exit(1)


def _pages(root: Path, part: str | None) -> list[str]:
    """The pages meant, as paths below the project. BadRequest where there is none."""
    docs = root / "docs"
    paths = sorted([*docs.rglob("*.md"), *docs.glob("labs/lab*.py")])
    there = [path.relative_to(root).as_posix() for path in paths]
    pages = [name for name in there if not part or part.removesuffix(".md") in name]
    if not pages:
        raise BadRequest("PAGE", f"no page of docs/ has {part!r} in its path", "see docs/")
    return pages


def _unbound(opened: book.Book, pages: Sequence[str]) -> Iterator[str]:
    """``page: sentence`` for each sentence of prose that neither claim nor output carries."""
    for page in pages:
        yield from (f"{page}: {s.text}" for s in _prose(opened, page) if not s.proven)


def _universal(opened: book.Book, pages: Sequence[str]) -> Iterator[str]:
    """``page: words: sentence`` for each sentence of every case that nothing carries."""
    for page in pages:
        for sentence in _prose(opened, page):
            if words := sentence.universal:
                yield f"{page}: {', '.join(words)}: {sentence.text}"


def _prose(opened: book.Book, page: str) -> Sequence[Written]:
    """The sentences of a page; none of a lab, whose prose stands between cells of code."""
    return opened.pages[page].prose if page in opened.pages else ()


def _summary(opened: book.Book, pages: Sequence[str]) -> Table:
    """A row a page, and one of all where there are several."""
    table = Table(box=None, pad_edge=False)
    table.add_column("page", overflow="fold")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    counts = [_counts(opened, page) for page in pages]
    for page, row in zip(pages, counts, strict=True):
        table.add_row(page, *_cells(row))
    if len(pages) > 1:
        table.add_row("all", *_cells(list(map(sum, zip(*counts, strict=True)))))
    return table


def _counts(opened: book.Book, page: str) -> list[int]:
    """As `COLUMNS`, without the share."""
    bindings = [s for s in opened.sentences if s.page == page]
    needed = list(dict.fromkeys(ref for s in bindings for ref in s.claims))
    proven_claims = sum(bool(_environments(opened, *ref)) for ref in needed)
    prose = _prose(opened, page)
    bound = sum(s.bound for s in prose)
    proven = sum(s.proven for s in prose)
    kinds = [len(prose), bound, proven - bound, len(prose) - proven]
    return [*kinds, len(bindings), len(needed), proven_claims]


def _cells(row: Sequence[int]) -> list[str]:
    sentences, bound, shown, neither, *rest = row
    share = f"{1 - neither / sentences:.0%}" if sentences else "–"
    return [str(sentences), str(bound), str(shown), str(neither), share, *map(str, rest)]


def _sentences(opened: book.Book, rows: Sequence[sentences.Sentence]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("line", "sentence", "claim", "held on"):
        table.add_column(name, overflow="fold")
    for s in rows:
        for snippet, name in s.claims:
            sentence = escape(" ".join(s.text.split()))
            environments = "; ".join(_environments(opened, snippet, name)) or "[red]nowhere[/]"
            table.add_row(str(s.line), sentence, escape(f"{snippet}#{name}"), environments)
    return table


def _environments(opened: book.Book, snippet: str, name: str) -> list[str]:
    """Where the claim was reached and held; where it is not made counts with its reason."""
    from tclab.page import verdict

    claim = opened.all[snippet].claim(name)
    if claim is None:
        return []
    places = [
        verdict.made_on(run)
        + ("" if claim.only.holds(run.provenance.version) else f": only {claim.only}")
        for run in opened.runs.get(snippet, ())
        if not verdict.untrue(claim, run)
    ]
    return list(dict.fromkeys(places))
