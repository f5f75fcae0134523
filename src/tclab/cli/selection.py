"""Which snippets the words of a command line mean. Standard library only."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType

from tclab.errors import SnippetError
from tclab.model import Snippet

ALL_READABLE: Mapping[str, SnippetError] = MappingProxyType({})


class NotOne(SnippetError):
    """A word that names no snippet, or several."""


def select(
    words: Sequence[str],
    known: Iterable[Snippet],
    unreadable: Mapping[str, SnippetError] = ALL_READABLE,
) -> list[Snippet]:
    """The snippets that `words` name, each once, in the order of the words; all for no words.

    A word is a snippet's name, the path of its file, a topic, or any beginning of a name
    (with or without its topic) that only one snippet has. NotOne otherwise; where a word
    names one that is `unreadable`, its error.
    """
    snippets = {s.name: s for s in known}
    if not words:
        return list(snippets.values())
    chosen = [name for word in words for name in _named(word, [*snippets, *unreadable])]
    for name in chosen:
        if name in unreadable:
            raise unreadable[name]
    return [snippets[name] for name in dict.fromkeys(chosen)]


def one(
    word: str,
    known: Iterable[Snippet],
    unreadable: Mapping[str, SnippetError] = ALL_READABLE,
) -> Snippet:
    """The only snippet that `word` names; errors as of `select`, NotOne for several."""
    chosen = select([word], known, unreadable)
    if len(chosen) > 1:
        raise _several(word, [s.name for s in chosen])
    return chosen[0]


def _named(word: str, names: Iterable[str]) -> list[str]:
    name = _without_path(word)
    names = list(names)
    if name in names:
        return [name]
    in_topic = [n for n in names if n.split("/", 1)[0] == name.rstrip("/")]
    if in_topic:
        return in_topic
    begun = [n for n in names if n.startswith(name) or n.split("/", 1)[-1].startswith(name)]
    if len(begun) == 1:
        return begun
    raise _several(word, begun) if begun else _unknown(word, names)


def _without_path(word: str) -> str:
    """``topic/what`` of a path to its file, else the word itself."""
    path = PurePath(word)
    if path.suffix == ".py":
        return "/".join(path.with_suffix("").parts[-2:])
    parts = Path(word).parts
    return "/".join(parts[parts.index("snippets") + 1 :]) if "snippets" in parts[:-1] else word


def _several(word: str, names: Sequence[str]) -> NotOne:
    listed = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    return NotOne(word, f"{len(names)} snippets begin so: {listed}", "write more of the name")


def _unknown(word: str, names: Sequence[str]) -> NotOne:
    short = {n.split("/", 1)[-1]: n for n in names}
    close = difflib.get_close_matches(word, [*names, *short], n=3, cutoff=0.5)
    meant = list(dict.fromkeys(short.get(c, c) for c in close))
    step = f"did you mean {' or '.join(meant)}?" if meant else "tclab list shows them all"
    return NotOne(word, "there is no such snippet", step)
