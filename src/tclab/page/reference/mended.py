"""The breaks that examples of the book show: for each id its message, and code before and after.

A gallery of causes shows a table that begins with the columns of CAUSES, of pairs of functions that
its snippet gives to `gallery`. Whatever else shows breaks has the function that broke.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tclab.model import Break, Breaks, Run, Snippet, Table, slug
from tclab.page.book import Book
from tclab.render import highlight, parts
from tclab.render.escape import NOTHING, Html, esc, join, tag
from tclab.render.kinds.table import cells
from tclab.render.options import Options

CAUSES = ("cause", "id", "PyTorch's reason")


@dataclass(frozen=True)
class Example:
    """What broke: its name, the function, the mended one or ''; `url` is from the site's root."""

    name: str
    before: str
    after: str
    url: str
    message: Break | None = None


def examples(book: Book) -> dict[str, list[Example]]:
    """The examples of each id, in the order of the book's pages."""
    found: dict[str, list[Example]] = {}
    for name, page in _pages(book).items():
        snippet, runs = book.snippets.get(name), book.runs.get(name)
        if snippet and runs:
            for identity, example in _of_run(snippet, runs[0], f"{page}#{slug(name)}"):
                if example not in found.setdefault(identity, []):
                    found[identity].append(example)
    return found


def _pages(book: Book) -> dict[str, str]:
    """Each snippet that stands whole on a page, and the page's address."""
    whole = [use for use in book.uses if use.function == "snippet"]
    return {use.snippet: book.url(use.page) for use in reversed(whole)}


def _of_run(snippet: Snippet, run: Run, url: str) -> Iterator[tuple[str, Example]]:
    functions, pairs = _functions(snippet), _pairs(snippet)
    for artifact in run.artifacts:
        if isinstance(artifact, Table) and artifact.columns[:3] == CAUSES:
            for cause, identity, *_ in cells(artifact):
                before, after = pairs.get(cause.replace(" ", "_"), ("", ""))
                if before in functions and after in functions:
                    yield identity, Example(cause, functions[before], functions[after], url)
        for item in artifact if isinstance(artifact, Breaks) else ():
            at = item.location.function if item.location else ""
            if item.gb_id and at in functions:
                yield item.gb_id, Example(snippet.title, functions[at], "", url, item)


def _functions(snippet: Snippet) -> dict[str, str]:
    """The source of each function of a snippet."""
    tree = ast.parse(snippet.source)
    defined = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {node.name: ast.get_source_segment(snippet.source, node) or "" for node in defined}


def _pairs(snippet: Snippet) -> dict[str, tuple[str, str]]:
    """Of each pair in a call of `gallery`: the first function's name, and both."""
    calls = [node for node in ast.walk(ast.parse(snippet.source)) if isinstance(node, ast.Call)]
    given = [call.args[0] for call in calls if getattr(call.func, "id", "") == "gallery"]
    items = [item for pairs in given if isinstance(pairs, ast.List) for item in pairs.elts]
    names = [
        [each.id for each in item.elts if isinstance(each, ast.Name)]
        for item in items
        if isinstance(item, ast.Tuple)
    ]
    return {first: (first, second) for first, second in (n for n in names if len(n) == 2)}


# --------------------------------------------------------------------------- on the page


def anchor(identity: str) -> str:
    """Where the examples of a break begin."""
    return f"mended-{identity}"


def html(rows: Mapping[str, list[str]], found: Mapping[str, list[Example]], up: str) -> Html:
    """A fold for each break that has an example; `rows` are the table's, by id: kind, explanation,
    hints. `up` leads to the site's root.
    """
    known = {identity: some for identity, some in found.items() if identity in rows}
    return join(_fold(identity, rows[identity], known[identity], up) for identity in sorted(known))


def _fold(identity: str, row: list[str], some: list[Example], up: str) -> Html:
    kind, explanation, hints, *_ = row
    message = next((example.message for example in some if example.message), None)
    if message:
        explanation, hints = message.explanation, "\n".join(f"- {h}" for h in message.hints)
    advice = [hint.removeprefix("- ") for hint in hints.split("\n") if hint.startswith("- ")]
    pieces = [
        tag("p", parts.prose(explanation), id=anchor(identity)),
        tag("ul", *(tag("li", parts.prose(hint)) for hint in advice)) if advice else NOTHING,
        *(_example(identity, i, example, up) for i, example in enumerate(some)),
    ]
    names = ", ".join(dict.fromkeys(example.name for example in some))
    fold = parts.fold(f"{identity} {kind}: {names}", tag("div", *pieces), search=False)
    return tag("div", fold, class_="tclab tclab-mended")


def _example(identity: str, number: int, example: Example, up: str) -> Html:
    link = tag("a", esc(example.name), href=up + example.url)
    sides = [("breaks", example.before), ("mended", example.after)]
    codes = [_code(f"{identity}-{number}-{side}", side, code) for side, code in sides if code]
    return join([tag("p", tag("strong", link)), tag("div", *codes, class_="tclab-sides")])


def _code(prefix: str, side: str, code: str) -> Html:
    options = Options(prefix)
    body = highlight.block(code, "python", options, anchors=False, label=side)
    return tag("div", tag("p", esc(side), class_="tclab-filename"), body)
