"""Highlight code as lines of HTML, with the CSS classes that Pygments and Material share."""

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

# Tokens of these classes get no HTML element, because the classes have no colour of their own. That
# keeps pages small: a third of all tokens is punctuation.
_PLAIN_CLASSES = frozenset({"n", "p", "w", "x", "esc"})

#: Texts with more characters get no colours: the lexer would take too long.
MAX_HIGHLIGHT = 400_000


@cache
def _find_lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    from tclab.render import languages

    name = _ALIASES.get(language, language)
    own_lexers = {"mlir": languages.MlirLexer, "sass": languages.SassLexer}
    options = {"stripnl": False, "ensurenl": False}
    if name in own_lexers:
        return own_lexers[name](**options)
    try:
        return get_lexer_by_name(name, **options)
    except ClassNotFound:
        return get_lexer_by_name("text", **options)


def _css_class(token: Any) -> str:
    from pygments.token import STANDARD_TYPES

    while token not in STANDARD_TYPES:
        token = token.parent
    name: str = STANDARD_TYPES[token]
    return name


def _lex(code: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield (class, text) for each token; the joined texts are `code`."""
    if len(code) > MAX_HIGHLIGHT:
        yield "", code
        return
    for token, value in _find_lexer(language).get_tokens(code):
        name = _css_class(token)
        yield ("" if name in _PLAIN_CLASSES else name), value


def _merged_pieces(
    code: str, language: str, plain_classes: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """Yield (class, text) with neighbours of the same class merged. A class in `plain_classes`
    counts as no class.
    """
    classified = (
        (("" if name in plain_classes else name), text) for name, text in _lex(code, language)
    )
    for name, group in groupby(classified, key=lambda piece: piece[0]):
        yield name, "".join(text for _, text in group)


def lines(code: str, language: str, plain_classes: frozenset[str] = frozenset()) -> list[Html]:
    """Return each line of `code` as highlighted HTML, without its newline.

    Tokens whose class is in `plain_classes` get no colour.
    """
    return list(_highlight_lines(clean(code), language, plain_classes))


@lru_cache(maxsize=32)  # several graphs may have the same kernels
def _highlight_lines(code: str, language: str, plain_classes: frozenset[str]) -> tuple[Html, ...]:
    lines_done: list[Html] = []
    current: list[Html] = []
    for name, value in _merged_pieces(code, language, plain_classes):
        first, *rest = value.split("\n")
        for index, part in enumerate([first, *rest]):
            if index:
                lines_done.append(join(current))
                current = []
            if part:
                current.append(tag("span", esc(part), class_=name) if name else esc(part))
    lines_done.append(join(current))
    return tuple(lines_done[:-1] if len(lines_done) > 1 and not lines_done[-1] else lines_done)


def inline(code: str, language: str = "python") -> Html:
    """Draw one line of code within a sentence."""
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
    """Draw a block of code with an anchor ``{prefix}-L{n}`` for line n.

    The elements are those of Material's code blocks (``div.highlight > pre > code``), so that
    its colours and its copy button work.
    """
    highlighted = lines(code, language)
    width = len(str(first_line + len(highlighted) - 1))
    body = []
    for number, html in enumerate(highlighted, first_line):
        margin = tag("span", data_linenos=f"{number:>{width}} ") if numbers else NOTHING
        line = margin, html, NEWLINE
        body.append(tag("span", *line, id=options.id(f"L{number}")) if anchors else join(line))
    # the style reserves the height of code that is not laid out yet
    height = f"--lines:{len(highlighted)}"
    inner = tag("code", *body, tabindex="0", aria_label=label or None, style=height)
    return tag(
        "div",
        tag("pre", inner),
        class_="highlight tclab-code",
        data_search_exclude="",
        data_stage=stage or None,
    )
