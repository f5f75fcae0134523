"""Values of environment variables, kept out of what is passed on: they may be tokens.

A guard on a variable says that there is one and shows ``…`` in place of its value. Elsewhere a
value that could be a token is replaced by the name of its variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_SHOWN = ContextVar("values are shown", default=False)

# +- EQUALS_MATCH: G['os'].environ._data[b'MY_TOKEN'] == b'sk-123'  # <frozen os>:761 in decode
_ENVIRON = re.compile(
    r"(\benviron\b.*? (?:==|is) )(b?)(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
)
# L['mode'] == 'sk-123'
_LITERAL = re.compile(r"'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"")
#: A literal that is as short, such as 'sum', says nothing of a variable with the same value.
_LITERAL_LENGTH = 6
#: What a token looks like in a text: not a number, nor a word.
_TOKEN = re.compile(r"(?=.*[A-Za-z])(?=.*[^a-z_ ]).{8,}", re.DOTALL)


@contextmanager
def lifted(shown: bool) -> Iterator[None]:
    """Within the block values are shown, if `shown`."""
    before = _SHOWN.set(shown)
    try:
        yield
    finally:
        _SHOWN.reset(before)


def guards(text: str, variables: Mapping[str, str] = os.environ) -> str:
    """The text of guards without what they compare an environment variable with, and without
    literals that are the value of one.
    """
    if _SHOWN.get():
        return text
    text = _ENVIRON.sub(r"\1\2'…'", text) if "environ" in text else text
    names = {_escaped(value): name for name, value in variables.items()}

    def literal(match: re.Match[str]) -> str:
        content = match[1] or match[2] or ""
        name = names.get(content) if len(content) >= _LITERAL_LENGTH else None
        return f"'{_instead(name)}'" if name else match[0]

    return prose(_LITERAL.sub(literal, text), tokens(variables))


def tokens(variables: Mapping[str, str] = os.environ, own: str = "") -> dict[str, str]:
    """Each value that could be a token, as it may be written → its variable; what stands in the
    user's `own` text is none. Empty where values are shown.
    """
    if _SHOWN.get():
        return {}
    pairs = ((value, name) for name, value in variables.items() if _may_be_token(value))
    written = ((text, name) for value, name in pairs for text in (value, _escaped(value)))
    return {text: name for text, name in written if text not in own}


def _may_be_token(value: str) -> bool:
    """Not a place on this machine, either, which `tclab.scrub` leaves out."""
    return bool(_TOKEN.fullmatch(value)) and not os.path.exists(value)


def prose(text: str, tokens: Mapping[str, str]) -> str:
    """Any text with the names of variables in place of their values."""
    for value, name in tokens.items():
        if value in text:
            text = text.replace(value, _instead(name))
    return text


def _escaped(value: str) -> str:
    """As `repr` writes it between the quotes."""
    return repr(value)[1:-1]


def _instead(name: str) -> str:
    return f"<value of {name}>"
