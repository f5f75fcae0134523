"""Code as highlighted HTML lines, by the token classes that Pygments and Material share."""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tclab.render.escape import NEWLINE, NOTHING, SPACE, Html, clean, esc, join, tag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tclab.render.options import Options

_ALIASES = {"ttir": "mlir", "ttgir": "mlir", "llir": "llvm", "bytecode": "text", "": "text",
            "asm": "nasm"}  # fmt: skip

# Classes that have the colour of plain code, or none: left out. A third of all is punctuation.
_PLAIN = frozenset({"n", "p", "w", "x", "esc"})

#: Longer texts are shown without colours: a lexer's time is not worth them.
MAX_HIGHLIGHT = 400_000


@cache
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    from tclab.render import languages

    name = _ALIASES.get(language, language)
    own = {"mlir": languages.MlirLexer, "sass": languages.SassLexer}
    options = {"stripnl": False, "ensurenl": False}
    if name in own:
        return own[name](**options)
    try:
        return get_lexer_by_name(name, **options)
    except ClassNotFound:
        return get_lexer_by_name("text", **options)


def _class(token: Any) -> str:
    from pygments.token import STANDARD_TYPES

    while token not in STANDARD_TYPES:
        token = token.parent
    name: str = STANDARD_TYPES[token]
    return name


def _pieces(code: str, language: str) -> Iterator[tuple[str, str]]:
    """(class, text) of each token; the texts joined are `code`."""
    if len(code) > MAX_HIGHLIGHT:
        yield "", code
        return
    for token, value in _lexer(language).get_tokens(code):
        name = _class(token)
        yield ("" if name in _PLAIN else name), value


def _runs(code: str, language: str, plain: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The pieces, those of one class that follow each other joined; `plain` is no class."""
    named = ((("" if name in plain else name), text) for name, text in _pieces(code, language))
    for name, group in groupby(named, key=lambda piece: piece[0]):
        yield name, "".join(text for _, text in group)


def lines(code: str, language: str, plain: frozenset[str] = frozenset()) -> list[Html]:
    """Each line of `code` as highlighted HTML, without its newline.

    Tokens whose class is in `plain` are left without colour.
    """
    return list(_lines(clean(code), language, plain))


@lru_cache(maxsize=32)  # graph after graph may have the same kernels
def _lines(code: str, language: str, plain: frozenset[str]) -> tuple[Html, ...]:
    done: list[Html] = []
    current: list[Html] = []
    for name, value in _runs(code, language, plain):
        first, *rest = value.split("\n")
        for number, part in enumerate([first, *rest]):
            if number:
                done.append(join(current))
                current = []
            if part:
                current.append(tag("span", esc(part), class_=name) if name else esc(part))
    done.append(join(current))
    return tuple(done[:-1] if len(done) > 1 and not done[-1] else done)


def inline(code: str, language: str = "python") -> Html:
    """One line of code within a sentence."""
    html = join(lines(code.strip(), language), SPACE)
    return tag("code", html, class_="highlight tclab-inline")


def block(
    code: str,
    language: str,
    options: Options,
    *,
    first_line: int = 1,
    numbers: bool = False,
    anchors: bool = True,
    label: str = "",
    stage: str = "",
) -> Html:
    """A block of code with a line anchor ``{prefix}-L{n}`` for each line.

    Built as Material's own blocks are (``div.highlight > pre > code``), so that its
    colours and its copy button work.
    """
    marked = lines(code, language)
    width = len(str(first_line + len(marked) - 1))
    body = []
    for at, html in enumerate(marked, first_line):
        margin = tag("span", data_linenos=f"{at:>{width}} ") if numbers else NOTHING
        line = margin, html, NEWLINE
        body.append(tag("span", *line, id=options.id(f"L{at}")) if anchors else join(line))
    height = f"--lines:{len(marked)}"  # so that code off the screen need not be laid out
    inner = tag("code", *body, tabindex="0", aria_label=label or None, style=height)
    return tag(
        "div",
        tag("pre", inner),
        class_="highlight tclab-code",
        data_search_exclude="",
        data_stage=stage or None,
    )
