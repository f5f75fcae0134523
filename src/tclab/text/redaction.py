"""Remove the values of environment variables from text, because they may be tokens.

In a guard on an environment variable the value is replaced by ``…``. Elsewhere a value that could
be a token is replaced by the name of its variable. So are the percent-encoded value, the password
in an address, and a word in quotes that is a long part of a value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import quote, unquote, urlsplit

_VALUES_SHOWN = ContextVar("values are shown", default=False)

# +- EQUALS_MATCH: G['os'].environ._data[b'MY_TOKEN'] == b'sk-123'  # <frozen os>:761 in decode
_ENVIRON = re.compile(
    r"(\benviron\b.*? (?:==|is) )(b?)(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
)
# L['mode'] == 'sk-123'
_LITERAL = re.compile(r"'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"")
#: Shorter literals, such as 'sum', can equal a variable's value by chance.
_SHORTEST_LITERAL = 6
#: A word in a literal that may be a part of a token.
_WORD = re.compile(r"[^\s'\"\0]{8,}")
#: The shape of a token: at least 8 characters, neither a number nor a word.
_TOKEN = re.compile(r"(?=.*[A-Za-z])(?=.*[^a-z_ ]).{8,}", re.DOTALL)


@contextmanager
def show_values(shown: bool) -> Iterator[None]:
    """Show values within the ``with`` block if `shown`, else redact them."""
    before = _VALUES_SHOWN.set(shown)
    try:
        yield
    finally:
        _VALUES_SHOWN.reset(before)


def redact_guards(text: str, variables: Mapping[str, str] = os.environ) -> str:
    """Return the text of guards with ``…`` for a value that is compared with an environment
    variable, and with a placeholder for literals and tokens that are a variable's value.
    """
    if _VALUES_SHOWN.get():
        return text
    text = _ENVIRON.sub(r"\1\2'…'", text) if "environ" in text else text
    names = {
        _repr_content(text): name
        for name, value in variables.items()
        for text in (*_find_passwords(value), value)
    }

    def replace_literal(match: re.Match[str]) -> str:
        content = match[1] or match[2] or ""
        name = names.get(content) if len(content) >= _SHORTEST_LITERAL else None
        return f"'{_make_placeholder(name)}'" if name else match[0]

    return redact_tokens(_LITERAL.sub(replace_literal, text), find_tokens(variables))


def find_tokens(variables: Mapping[str, str] = os.environ, user_text: str = "") -> dict[str, str]:
    """Map each value that could be a token, in each of its spellings, to its variable's name. A
    value in `user_text`, the user's text, is not a token. Return nothing inside `show_values`.
    """
    if _VALUES_SHOWN.get():
        return {}
    pairs = ((value, name) for name, value in variables.items() if _may_be_token(value))
    parts = ((part, name) for value, name in pairs for part in (value, *_find_passwords(value)))
    secret = ((part, name) for part, name in parts if _TOKEN.fullmatch(part))
    written = ((text, name) for part, name in secret for text in _list_forms(part))
    return {text: name for text, name in written if text not in user_text}


def _find_passwords(value: str) -> tuple[str, ...]:
    """Return the password of a URL, as written and unquoted; an empty tuple for another value."""
    try:
        password = urlsplit(value).password or ""
    except ValueError:  # the value is not a URL, though it begins like one
        password = ""
    return tuple(dict.fromkeys(filter(None, (password, unquote(password)))))


def _list_forms(value: str) -> Iterator[str]:
    """Yield the forms of a value in text: unchanged, in capitals or small letters, in a Python
    literal, and quoted for a URL.
    """
    yield from dict.fromkeys((value, value.upper(), value.lower()))
    yield _repr_content(value)
    yield quote(value, safe="")


def _may_be_token(value: str) -> bool:
    """Return whether a value looks like a token. A path does not count, because `tclab.text.scrub`
    handles paths.
    """
    return bool(_TOKEN.fullmatch(value)) and not os.path.exists(value)


def redact_tokens(text: str, tokens: Mapping[str, str], user_text: str = "") -> str:
    """Replace the values of variables, and words in quotes that are long parts of a value, by the
    variables' names. A word in `user_text`, the user's text, is kept.
    """
    for value, name in tokens.items():
        if value in text:
            text = text.replace(value, _make_placeholder(name))
    return _LITERAL.sub(_Parts(tokens, user_text), text) if tokens else text


class _Parts:
    """Replaces the words of a literal that are long parts of tokens by the names of variables."""

    def __init__(self, tokens: Mapping[str, str], own: str) -> None:
        self.tokens, self.all, self.own = tokens, "\0".join(tokens), own
        self.names = {*tokens.values()}  # the names of variables are not secret

    def __call__(self, literal: re.Match[str]) -> str:
        return _WORD.sub(self._replace_word, literal[0])

    def _replace_word(self, match: re.Match[str]) -> str:
        """Return the word, or ``<part of …>`` if it is most of a token or looks like a token
        itself.
        """
        word = match[0]
        if word not in self.all or word in self.own or word in self.names:
            return word
        value, name = next((v, n) for v, n in self.tokens.items() if word in v)
        is_most = 2 * len(word) >= len(value)
        return f"<part of {name}>" if is_most or _TOKEN.fullmatch(word) else word


def _repr_content(value: str) -> str:
    """Return the text as `repr` writes it between the quotes."""
    return repr(value)[1:-1]


def _make_placeholder(name: str) -> str:
    return f"<value of {name}>"
