"""Check the sentences on claims whose outcome differs on a reader's machine
(``shadow.json``).

A sentence on such a claim must say with which backend, or with which caches, it is true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tclab.errors import PageError, SnippetError
from tclab.site.pages.book import Book
from tclab.site.pages.prose.sentences import Sentence, whole_sentence
from tclab.site.snippets import flips

#: Kind of run → the part that the sentence must name, and the words that name it.
_REQUIRED_WORDS = {
    flips.INDUCTOR: (
        "its backend",
        re.compile(
            r"\b(?:Dynamo|AOTAutograd|Inductor|[Bb]ackends?)\b|`(?:\w+=\")?(?:(?:aot_)?eager|inductor)"
        ),
    ),
    flips.CACHES: (
        "cold caches",
        re.compile(r"\bcold\b|\bcaches? (?:is|are|were) (?:off|empty)\b|\b(?:empty|no) caches?\b"),
    ),
}


def problems(book: Book) -> Iterator[PageError | SnippetError]:
    """Yield an error for each sentence on such a claim that names neither the backend nor the
    caches on which the claim depends.
    """
    try:
        listed = flips.read(book.root)
    except SnippetError as error:
        yield error
        return
    for sentence in book.sentences:
        for snippet, claim in sentence.claims:
            for kind in listed.kinds(snippet, claim):
                what, words = _REQUIRED_WORDS[kind]
                if not words.search(_whole_text(book, sentence)):
                    yield _unnamed_error(sentence, f"{snippet}#{claim}", kind, what)


def _whole_text(book: Book, sentence: Sentence) -> str:
    page = book.pages.get(sentence.page)
    return whole_sentence(page, sentence) if page else sentence.text


def _unnamed_error(sentence: Sentence, claim: str, kind: str, part: str) -> PageError:
    text = " ".join(sentence.text.split())
    cause = f"“{text:.120}” rests on {claim}, which flips ({flips.FILE}, [{kind}])"
    return PageError(str(sentence), cause, f"name {part} in the sentence")
