"""Keep short words of code on one line: a browser breaks ``reduce-overhead`` behind its hyphen."""

from __future__ import annotations

import re

from tclab.render.escape import Html

#: A longer word may have to break on a phone.
_LONGEST = 24
#: Code in text; a listing's is within <pre>, or has attributes.
_CODE = re.compile(r"(?<!<pre>)<code>([^<>]+)</code>")
_WORD = re.compile(rf"(?<!\S)(?=[^\s-]*-)\S{{2,{_LONGEST}}}(?!\S)")


def keep_words(html: str) -> Html:
    """Mark each short word with a hyphen in the code of a text; the style sheet does not break it.

    `html` is safe HTML.
    """
    return Html(_CODE.sub(_mark_words, html))


def _mark_words(code: re.Match[str]) -> str:
    return f"<code>{_WORD.sub(_mark_word, code[1])}</code>"


def _mark_word(word: re.Match[str]) -> str:
    return f'<span class="tclab-word">{word[0]}</span>'
