"""Check bound sentences against the runs, and replace the bindings on a page by their HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from tclab.errors import PageError, TclabError
from tclab.model import Claim, Run, Snippet, Source, Version, slug
from tclab.render.escape import NOTHING, Html, esc, markup, tag
from tclab.render.stamp import places_text
from tclab.site.pages import binding_html, claim_checks, downloads, flip_checks, numbers
from tclab.site.pages.book import Book
from tclab.site.pages.prose.sentences import Sentence, Value
from tclab.site.pages.prose.text import PageText
from tclab.site.versions import claims

_BOUND_WORDS = {">=": "PyTorch {} and later", ">": "after PyTorch {}", "<": "before PyTorch {}",
          "<=": "up to PyTorch {}", "==": "PyTorch {}"}  # fmt: skip

#: How a sentence itself says a bound.
_SAID_BOUNDS = {">=": r"[Ff]rom (PyTorch )?{} on\b", "<": r"[Bb]efore (PyTorch )?{}(?!\.?\d)",
                "==": r"[Ii]n (PyTorch )?{}(?!\.?\d)"}  # fmt: skip

#: The note after a sentence about a PyTorch version of which the site shows no run.
_NOT_RUN_HERE = "not run here"


def problems(book: Book) -> list[TclabError]:
    """Return an error for each bound sentence that the site's runs do not prove. Also return one
    for each sentence that is false with another backend or with caches, and does not say so.
    """
    unproven = (
        problem for sentence in book.sentences for problem in _check_sentence(book, sentence)
    )
    return [*unproven, *flip_checks.problems(book)]


def _check_sentence(book: Book, sentence: Sentence) -> Iterator[PageError]:
    for name, claim_name in sentence.claims:
        snippet = book.snippet(name, str(sentence))
        claim = snippet.claim(claim_name)
        if claim is None:
            yield claim_checks.unknown_claim(sentence, snippet, claim_name)
            continue
        if outside := _find_versions_outside(sentence, claim, book):
            yield claim_checks.about_other_versions(sentence, snippet, claim, outside)
        for run in book.runs.get(name, ()):
            yield from claim_checks.check_claim(sentence, snippet, claim, run)


# --------------------------------------------------------------------------- HTML of bindings


def link_proofs(text: PageText, url: str, book: Book) -> str:
    """Replace each binding by a proof mark behind its sentence, and each value by its number."""
    return replace_bindings(
        text,
        lambda sentence, words: _sentence_html(sentence, words, url, book),
        lambda value: binding_html.protect_from_markdown(numbers.number_html(value, book)),
    )


def replace_bindings(
    text: PageText, sentence: Callable[[Sentence, str], str], value: Callable[[Value], str]
) -> str:
    """Replace each value by `value(…)` and each bound sentence by `sentence(…, its words)`.

    The values in a sentence's words are replaced first. The number of lines does not change.
    """
    value_edits = [(each.start, each.end, value(each)) for each in text.values]
    edits = [edit for edit in value_edits if not any(_is_inside(edit, s) for s in text.sentences)]
    for s in text.sentences:
        inside = [edit for edit in value_edits if _is_inside(edit, s)]
        words = _apply_edits(s.text, inside, from_=s.start + len("["))
        edits.append((s.start, s.end, sentence(s, words)))
    return _apply_edits(text.text, edits)


#: Start, end and replacement of an edit.
_Edit = tuple[int, int, str]


def _is_inside(edit: _Edit, sentence: Sentence) -> bool:
    return sentence.start < edit[0] < sentence.end


def _apply_edits(text: str, edits: Iterable[_Edit], from_: int = 0) -> str:
    """Apply the edits to the text, which begins at offset `from_`."""
    for start, end, instead in sorted(edits, reverse=True):
        text = text[: start - from_] + instead + text[end - from_ :]
    return text


def _sentence_html(sentence: Sentence, words: str, url: str, book: Book) -> str:
    marks = _make_marks(sentence, url, book)
    scope, links = _describe_scope(sentence, marks, book), "".join(map(_mark_html, marks))
    return f'<span class="tclab-sentence">{words}{scope}</span>{links}'


def sentence_markdown(sentence: Sentence, words: str, url: str, book: Book) -> str:
    """Return the sentence with its scope and a link to each line that proves it. `url` is the
    address of the page.
    """
    page, marks = url.rsplit("/", 1)[-1], _make_marks(sentence, url, book)
    addresses = ((mark.href if mark.href[0] != "#" else page + mark.href) for mark in marks)
    titles = (_escape_title(f"held: {mark.held}") for mark in marks)
    links = [f' [✓]({address} "{title}")' for address, title in zip(addresses, titles)]
    return "".join([words, _describe_scope(sentence, marks, book), *links])


def _escape_title(text: str) -> str:
    """Return a text for the title of a link in Markdown, which a quotation mark would end."""
    return re.sub(r'["\\]', r"\\\g<0>", text)


def _describe_scope(sentence: Sentence, marks: Sequence[_Mark], book: Book) -> str:
    """Return the versions of PyTorch that the sentence is about, in brackets; '' if there are
    none, if its words say them, or if its page compares two versions, one of which is among them.
    """
    snippets = ((book.snippet(name, str(sentence)), claim) for name, claim in sentence.claims)
    said = (_find_claim(sentence, snippet, claim) for snippet, claim in snippets)
    compared = _list_compared_versions(sentence, book)
    clauses = [
        version_clause(c)
        for c in said
        if not (any(map(c.only.holds, compared)) or _says_versions(sentence.text, c))
    ]
    missing = [_NOT_RUN_HERE] if len(marks) < len(sentence.claims) else []
    notes = dict.fromkeys(filter(None, [*clauses, *missing]))
    return f" ({'; '.join(notes)})" if notes else ""


def _list_compared_versions(sentence: Sentence, book: Book) -> list[Version]:
    """Return the two versions that the page of the sentence compares; [] if it compares none."""
    page = book.pages.get(sentence.page)
    return [Version.parse(str(one)) for one in page.meta.get("compares", ())] if page else []


def _find_versions_outside(sentence: Sentence, claim: Claim, book: Book) -> list[Version]:
    """Return the versions that the page compares if the claim holds for none of them; else []."""
    compared = _list_compared_versions(sentence, book)
    return [] if any(map(claim.only.holds, compared)) else compared


def version_clause(claim: Claim) -> str:
    """Return the claim's clause on versions in words, such as ``PyTorch 2.13 and later``."""
    return ", ".join(_BOUND_WORDS[operator].format(v.short) for operator, v in claim.only.bounds)


def _says_versions(words: str, claim: Claim) -> bool:
    """Whether the words of a sentence say the versions: ``From PyTorch 2.13 on it is caught``."""
    return all(
        operator in _SAID_BOUNDS
        and re.search(_SAID_BOUNDS[operator].format(re.escape(v.short)), words)
        for operator, v in claim.only.bounds
    )


def _find_claim(sentence: Sentence, snippet: Snippet, name: str) -> Claim:
    if claim := snippet.claim(name):
        return claim
    raise claim_checks.unknown_claim(sentence, snippet, name)


@dataclass(frozen=True)
class _Mark:
    """A link from a sentence to the line that proves it, with the line's code and place, and the
    devices and versions on which the claim held.
    """

    name: str
    href: str
    code: str
    place: str
    held: str


def _make_marks(sentence: Sentence, url: str, book: Book) -> list[_Mark]:
    """Return the marks of a sentence's claims. A claim has no mark if it held in no run, or only
    under versions of PyTorch that it is not about.
    """
    marks = (_mark(sentence, url, book, name, claim) for name, claim in sentence.claims)
    return [mark for mark in marks if mark]


def _mark(sentence: Sentence, url: str, book: Book, name: str, claim_name: str) -> _Mark | None:
    snippet = book.snippet(name, str(sentence))
    claim = _find_claim(sentence, snippet, claim_name)
    runs = [
        run
        for run in book.runs.get(name, ())
        if (c := run.claim(claim.name)) and c.held and claim.only.holds(run.provenance.version)
    ]
    if not runs:
        return None
    held = _list_places_held(book, snippet, claim, runs)
    href = _line_url(snippet, claim.line, url, sentence.page, book)
    return _Mark(claim.name, href, claim.code, f"{snippet.file}:{claim.line}", held)


def _mark_html(mark: _Mark) -> str:
    title = f"{mark.code}\n{mark.place}\nheld: {mark.held}"
    name = f"proof: {mark.name.replace('-', ' ')}"
    return binding_html.protect_from_markdown(
        tag("a", class_="tclab-proof", href=mark.href, title=title, aria_label=name)
    )


def _list_places_held(book: Book, snippet: Snippet, claim: Claim, runs: Sequence[Run]) -> str:
    """Return each device, with the PyTorch versions on which a claim held there, from these runs or
    from the recorded results.
    """
    if any(run.sources for run in runs):  # the rows that the claim tests come from other machines
        return "; ".join(dict.fromkeys(map(claim_checks.origin, runs)))
    machines = (
        record.machine for record in book.versions if claims.has_held(record, snippet, claim.name)
    )
    recorded = (Source(machine.torch, gpu=machine.gpu) for machine in machines)
    return places_text(chain((run.figure_sources[0] for run in runs), recorded))


def _line_url(snippet: Snippet, line: int, url: str, page: str, book: Book) -> str:
    """Return the address of a snippet's line: on this page, on another page, or in the download."""
    up = "../" * url.count("/")
    if lab := book.labs.get(snippet.name):
        cell_line = max(cell.line for cell in lab.cells if cell.line < line)
        lab_page = f"labs/{lab.name}.html"
        return f"{'' if url == lab_page else up + lab_page}#cell-id=c{cell_line}"
    pages = [use.page for use in book.uses if use.snippet == snippet.name and use.lists_code]
    anchor = f"#src-{slug(snippet.name)}-L{line}"
    if page in pages:
        return anchor
    if pages:
        return f"{up}{book.url(pages[0])}{anchor}"
    return up + downloads.script_path(snippet)


_MARK_CLASS = 'class="tclab-proof"'


def proofs_switch(html: str) -> Html:
    """Return a checkbox that shows all proof marks of the page; empty if the page has none."""
    number = html.count(_MARK_CLASS)
    if not number:
        return NOTHING
    verb, what = ("show the ", "proof") if number == 1 else ("show all ", f"{number} proofs")
    box = markup('<input type="checkbox" id="tclab-proofs" data-keep>')
    words = [tag("span", esc(verb)), esc(what)]  # a phone has no room for the verb
    return tag("label", box, *words, class_="tclab-switch", data_search_exclude="")
