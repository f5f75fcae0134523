"""Bound sentences against the runs: what is wrong with each, and what the reader sees of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from tclab.errors import PageError
from tclab.model import Claim, Run, Snippet, Source, Table, slug
from tclab.page import downloads, verdict
from tclab.page.book import Book
from tclab.page.prose.sentences import Sentence, Value
from tclab.page.prose.text import PageText
from tclab.render.escape import NOTHING, Html, esc, markup, tag
from tclab.render.kinds.table import cells
from tclab.render.stamp import places
from tclab.versions import claims

_WORDS = {">=": "PyTorch {} and later", ">": "after PyTorch {}", "<": "before PyTorch {}",
          "<=": "up to PyTorch {}", "==": "PyTorch {}"}  # fmt: skip

#: Of a sentence whose claim no machine has run: a page says so of the snippet (`awaited`).
_NOT_RUN = "asserted, not yet recorded"
#: Of a sentence about versions of PyTorch of which the site shows no run.
_NOT_REACHED = "not run here"


def problems(book: Book) -> list[PageError]:
    """A problem for each bound sentence that the runs to be shown do not carry."""
    return [problem for sentence in book.sentences for problem in _problems(book, sentence)]


def _problems(book: Book, sentence: Sentence) -> Iterator[PageError]:
    for name, claim_name in sentence.claims:
        snippet = book.snippet(name, str(sentence))
        claim = snippet.claim(claim_name)
        if claim is None:
            yield verdict.no_claim(sentence, snippet, claim_name)
            continue
        for run in book.runs.get(name, ()):
            yield from verdict.problems(sentence, snippet, claim, run)


# --------------------------------------------------------------------------- what is shown


def link(text: PageText, url: str, book: Book) -> str:
    """The Markdown with each binding as a mark after its sentence, each value as a number."""
    return written(
        text,
        lambda sentence, words: _marked(sentence, words, url, book),
        lambda value: number(value, book),
    )


def written(
    text: PageText, sentence: Callable[[Sentence, str], str], value: Callable[[Value], str]
) -> str:
    """The Markdown with `value` of each value, and `sentence` of each bound sentence and its words,
    which have their values by then. No line is added and none goes.
    """
    numbers = [(each.start, each.end, value(each)) for each in text.values]
    edits = [edit for edit in numbers if not any(_in(edit, s) for s in text.sentences)]
    for s in text.sentences:
        inside = [edit for edit in numbers if _in(edit, s)]
        words = _edited(s.text, inside, from_=s.start + len("["))
        edits.append((s.start, s.end, sentence(s, words)))
    return _edited(text.text, edits)


#: From, to, and what stands there instead.
_Edit = tuple[int, int, str]


def _in(edit: _Edit, sentence: Sentence) -> bool:
    return sentence.start < edit[0] < sentence.end


def _edited(text: str, edits: Iterable[_Edit], from_: int = 0) -> str:
    """The text, which begins at offset `from_`, with the edits made."""
    for start, end, instead in sorted(edits, reverse=True):
        text = text[: start - from_] + instead + text[end - from_ :]
    return text


def _marked(sentence: Sentence, words: str, url: str, book: Book) -> str:
    marks = [_mark(sentence, url, book, name, claim) for name, claim in sentence.claims]
    snippets = ((book.snippet(name, str(sentence)), claim) for name, claim in sentence.claims)
    clauses = [only(_claim(sentence, snippet, claim)) for snippet, claim in snippets]
    missing = [_NOT_RUN if not book.runs.get(name) else _NOT_REACHED
               for (name, _), mark in zip(sentence.claims, marks) if not mark]  # fmt: skip
    notes = dict.fromkeys(filter(None, [*clauses, *missing]))
    note = f" ({'; '.join(notes)})" if notes else ""
    return f'<span class="tclab-sentence">{words}{note}</span>{"".join(marks)}'


def only(claim: Claim) -> str:
    """The clause on versions in words."""
    return ", ".join(_WORDS[operator].format(v.short) for operator, v in claim.only.bounds)


def _claim(sentence: Sentence, snippet: Snippet, name: str) -> Claim:
    if claim := snippet.claim(name):
        return claim
    raise verdict.no_claim(sentence, snippet, name)


def _mark(sentence: Sentence, url: str, book: Book, name: str, claim_name: str) -> str:
    """The link from a sentence to the line that proves it; '' where no run came to it."""
    snippet = book.snippet(name, str(sentence))
    claim = _claim(sentence, snippet, claim_name)
    runs = [run for run in book.runs.get(name, ()) if (c := run.claim(claim.name)) and c.held]
    if not runs:
        return ""
    title = (
        f"{claim.code}\n{snippet.file}:{claim.line}\nheld: {_places(book, snippet, claim, runs)}"
    )
    href = _line_url(snippet, claim.line, url, sentence.page, book)
    hidden = tag("span", esc("proof"), class_="tclab-sr", data_search_exclude="")
    return _within_a_line(tag("a", hidden, class_="tclab-proof", href=href, title=title))


def _places(book: Book, snippet: Snippet, claim: Claim, runs: Sequence[Run]) -> str:
    """Each device with the PyTorches on which a claim held: in these runs, and as recorded."""
    if any(run.sources for run in runs):  # the rows' machines, whatever PyTorch reads them
        return "; ".join(dict.fromkeys(map(verdict.made_on, runs)))
    known = (e.machine for e in book.versions if claims.held_under(e, snippet, claim.name))
    recorded = (Source(made.torch, gpu=made.gpu) for made in known)
    return places(chain((run.measured[0] for run in runs), recorded))


def _within_a_line(html: str) -> str:
    """HTML that an indented block or a table's row may hold: no line and no cell ends in it."""
    return html.replace("\n", "&#10;").replace("|", "&#124;")


def _line_url(snippet: Snippet, line: int, url: str, page: str, book: Book) -> str:
    """Where a snippet's line can be read: on this page, on another, or in the file itself."""
    up = "../" * url.count("/")
    if lab := book.labs.get(snippet.name):
        start = max(cell.line for cell in lab.cells if cell.line < line)
        own = f"labs/{lab.name}.html"
        return f"{'' if url == own else up + own}#cell-id=c{start}"
    pages = [use.page for use in book.uses if use.snippet == snippet.name and use.lists_code]
    anchor = f"#src-{slug(snippet.name)}-L{line}"
    if page in pages:
        return anchor
    if pages:
        return f"{up}{book.url(pages[0])}{anchor}"
    return up + downloads.script_path(snippet)


_MARK = 'class="tclab-proof"'


def switch(html: str) -> Html:
    """A box to tick on a page with proofs: all their marks are shown then, not one a paragraph."""
    number = html.count(_MARK)
    if not number:
        return NOTHING
    words = "show the proof" if number == 1 else f"show all {number} proofs"
    box = markup('<input type="checkbox" id="tclab-proofs" data-keep>')
    return tag("label", box, esc(words), class_="tclab-switch", data_search_exclude="")


# --------------------------------------------------------------------------- numbers


def number(value: Value, book: Book) -> Html:
    """A value as a number with its unit, which says where it was measured when pointed at."""
    run = _run(value, book)
    days = " and ".join(sorted({day for source in run.measured for day in source.dates}))
    title = f"snippets/{run.snippet}.py, {verdict.made_on(run)}, {days}"
    return tag("span", esc(number_text(value, book)), class_="tclab-number", title=title)


def number_text(value: Value, book: Book) -> str:
    """A value as a number with its unit."""
    table = _table(value, _run(value, book))
    row = _index(value, "row", value.row, [str(row[0]) for row in table.rows])
    column = _index(value, "column", value.column, list(table.columns))
    unit = table.units[column] if column < len(table.units) else ""
    return cells(table)[row][column] + (f"\N{NO-BREAK SPACE}{unit}" if unit else "")


def _run(value: Value, book: Book) -> Run:
    runs = book.runs_of(value.snippet, str(value))
    for run in runs:
        if value.environment in ("", run.environment):
            return run
    there = ", ".join(run.environment for run in runs)
    cause = f"{value.snippet} has no run of {value.environment!r}"
    raise PageError(str(value), cause, f"there are: {there}")


def _table(value: Value, run: Run) -> Table:
    try:
        table = run.artifact(value.artifact)
    except KeyError as error:
        raise PageError(str(value), str(error.args[0]), "name one of those") from None
    if not isinstance(table, Table):
        raise PageError(str(value), f"{value.artifact!r} is no table", "name a table")
    return table


def _index(value: Value, what: str, wanted: str, names: list[str]) -> int:
    slugs = [slug(name) for name in names]
    if slugs.count(slug(wanted)) == 1:
        return slugs.index(slug(wanted))
    if what == "row" and wanted.isdigit() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    step = f"there are: {', '.join(slugs)}"
    raise PageError(str(value), f"{value.artifact} has not one {what} {wanted!r}", step)
