"""Select the snippets that the words of a command line name. This module needs only the standard
library.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType

from tclab.errors import SnippetError
from tclab.model import Snippet

ALL_READABLE: Mapping[str, SnippetError] = MappingProxyType({})


class AmbiguousName(SnippetError):
    """Raised for a word that names no snippet, or several."""

    exit_status = 2


def select(
    selectors: Sequence[str],
    all_snippets: Iterable[Snippet],
    unreadable: Mapping[str, SnippetError] = ALL_READABLE,
) -> list[Snippet]:
    """Return the snippets that `selectors` name, each once, in the order of the selectors. Without
    selectors, return all snippets.

    A selector is a snippet's name, the path of its file, a topic, or any beginning of a name (with
    or without its topic) that only one snippet has. Raises AmbiguousName for any other selector,
    and the error of an `unreadable` snippet that a selector names.
    """
    snippets = {s.name: s for s in all_snippets}
    if not selectors:
        return list(snippets.values())
    chosen = [
        name for word in selectors for name in _matching_names(word, [*snippets, *unreadable])
    ]
    for name in chosen:
        if name in unreadable:
            raise unreadable[name]
    return [snippets[name] for name in dict.fromkeys(chosen)]


def select_one(
    word: str,
    snippets: Iterable[Snippet],
    unreadable: Mapping[str, SnippetError] = ALL_READABLE,
) -> Snippet:
    """Return the only snippet that `word` names. Raises AmbiguousName if the word names several,
    and the errors of `select`.
    """
    chosen = select([word], snippets, unreadable)
    if len(chosen) > 1:
        raise _ambiguous_error(word, [s.name for s in chosen])
    return chosen[0]


def _matching_names(word: str, names: Iterable[str]) -> list[str]:
    name = _strip_path(word)
    names = list(names)
    if name in names:
        return [name]
    in_topic = [n for n in names if n.split("/", 1)[0] == name.rstrip("/")]
    if in_topic:
        return in_topic
    begun = [n for n in names if n.startswith(name) or n.split("/", 1)[-1].startswith(name)]
    if len(begun) == 1:
        return begun
    raise _ambiguous_error(word, begun) if begun else _unknown_error(word, names)


def _strip_path(word: str) -> str:
    """Return ``topic/name`` for a path to a snippet's file; return other words unchanged."""
    path = PurePath(word)
    if path.suffix == ".py":
        return "/".join(path.with_suffix("").parts[-2:])
    parts = Path(word).parts
    return "/".join(parts[parts.index("snippets") + 1 :]) if "snippets" in parts[:-1] else word


def _ambiguous_error(word: str, names: Sequence[str]) -> AmbiguousName:
    listed = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    return AmbiguousName(
        word, f"{len(names)} snippets begin so: {listed}", "write more of the name"
    )


def _unknown_error(word: str, names: Sequence[str]) -> AmbiguousName:
    short = {n.split("/", 1)[-1]: n for n in names}
    close = difflib.get_close_matches(word, [*names, *short], n=3, cutoff=0.5)
    meant = list(dict.fromkeys(short.get(c, c) for c in close))
    step = f"did you mean {' or '.join(meant)}?" if meant else "tclab list shows them all"
    return AmbiguousName(word, "there is no such snippet", step)
