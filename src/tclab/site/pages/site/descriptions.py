"""Take a page's description from its opening: the question and the answer."""

from __future__ import annotations

import re
from itertools import takewhile

#: The most characters of a description: search engines cut longer ones.
LONGEST = 200

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_QUESTION = re.compile(r"\A\s*# [^\n]*\n+> ([^\n]*)\n")
_PARAGRAPH = re.compile(r"\n\n([A-Z*`\[].*(?:\n.+)*)\n")
_SENTENCE = re.compile(r"\S.*?(?:[.!?](?:\]\([^)]*\))?(?= )|$)")


def opening(markdown: str) -> str:
    """Return a page's question and the first sentences of its first paragraph as plain text; '' if
    it has neither.

    The sentences end before one that takes a number from a run, which is not in the Markdown.
    """
    question = _QUESTION.match(markdown)
    paragraph = _PARAGRAPH.search(f"\n\n{markdown}\n")
    sentences = _SENTENCE.findall(paragraph[1].replace("\n", " ")) if paragraph else []
    text = _plain(question[1]) if question else ""
    for sentence in map(_plain, takewhile(lambda s: "](value:" not in s, sentences)):
        if text and len(f"{text} {sentence}") > LONGEST:
            break
        text = f"{text} {sentence}".lstrip()
    return text


def _plain(markdown: str) -> str:
    return re.sub(r"[`*]", "", _LINK.sub(r"\1", markdown))
