"""Show examples of graph breaks from the book: the message, and the code before and after the fix.

A snippet that calls `gallery` passes pairs of functions (breaking, fixed) and shows a table that
begins with CAUSE_COLUMNS. Other snippets with breaks have only the breaking function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tclab.model import Break, Breaks, Run, Snippet, Table, slug
from tclab.render import highlight, parts
from tclab.render.escape import NOTHING, Html, esc, join, tag
from tclab.render.kinds.table import cell_texts
from tclab.render.options import Options
from tclab.site.pages.book import Book

CAUSE_COLUMNS = ("cause", "id", "PyTorch's reason")


@dataclass(frozen=True)
class Example:
    """One example of a break: its name, the code before and after the fix ('' without a fix), and
    the page that shows it.

    `url` is relative to the site's root.
    """

    name: str
    before: str
    after: str
    url: str
    message: Break | None = None


def examples(book: Book) -> dict[str, list[Example]]:
    """Map each break id to its examples, in the order of the book's pages."""
    by_id: dict[str, list[Example]] = {}
    for name, page in _snippet_pages(book).items():
        snippet, runs = book.snippets.get(name), book.runs.get(name)
        if snippet and runs:
            for identity, example in _examples_of_run(snippet, runs[0], f"{page}#{slug(name)}"):
                if example not in by_id.setdefault(identity, []):
                    by_id[identity].append(example)
    return by_id


def _snippet_pages(book: Book) -> dict[str, str]:
    """Map each snippet that a page shows as a whole to the page's address."""
    uses = [use for use in book.uses if use.function == "snippet"]
    return {use.snippet: book.url(use.page) for use in reversed(uses)}


def _examples_of_run(snippet: Snippet, run: Run, url: str) -> Iterator[tuple[str, Example]]:
    functions, pairs = _map_functions(snippet), _gallery_pairs(snippet)
    for artifact in run.artifacts:
        if isinstance(artifact, Table) and artifact.columns[:3] == CAUSE_COLUMNS:
            for cause, identity, *_ in cell_texts(artifact):
                before, after = pairs.get(cause.replace(" ", "_"), ("", ""))
                if before in functions and after in functions:
                    yield identity, Example(cause, functions[before], functions[after], url)
        for item in artifact if isinstance(artifact, Breaks) else ():
            function = item.location.function if item.location else ""
            if item.gb_id and function in functions:
                yield item.gb_id, Example(snippet.title, functions[function], "", url, item)


def _map_functions(snippet: Snippet) -> dict[str, str]:
    """Map the name of each function of a snippet to its source."""
    tree = ast.parse(snippet.source)
    defined = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {node.name: ast.get_source_segment(snippet.source, node) or "" for node in defined}


def _gallery_pairs(snippet: Snippet) -> dict[str, tuple[str, str]]:
    """Map the name of the breaking function to the names of both functions, for each pair passed to
    `gallery`.
    """
    calls = [node for node in ast.walk(ast.parse(snippet.source)) if isinstance(node, ast.Call)]
    arguments = [call.args[0] for call in calls if getattr(call.func, "id", "") == "gallery"]
    items = [item for pairs in arguments if isinstance(pairs, ast.List) for item in pairs.elts]
    names = [
        [each.id for each in item.elts if isinstance(each, ast.Name)]
        for item in items
        if isinstance(item, ast.Tuple)
    ]
    return {first: (first, second) for first, second in (n for n in names if len(n) == 2)}


# --------------------------------------------------------------------------- on the page


def anchor(identity: str) -> str:
    """Return the anchor of a break's examples."""
    return f"mended-{identity}"


def html(
    rows: Mapping[str, list[str]], examples_by_id: Mapping[str, list[Example]], path_to_root: str
) -> Html:
    """Render a fold for each break that has an example.

    `rows` maps each break's id to the kind, the explanation and the hints in the table.
    `path_to_root` leads from the page to the site's root.
    """
    known = {
        identity: known_examples
        for identity, known_examples in examples_by_id.items()
        if identity in rows
    }
    return join(
        _break_fold(identity, rows[identity], known[identity], path_to_root)
        for identity in sorted(known)
    )


def _break_fold(
    identity: str, row: list[str], shown_examples: list[Example], path_to_root: str
) -> Html:
    kind, explanation, hints, *_ = row
    message = next((example.message for example in shown_examples if example.message), None)
    if message:
        explanation, hints = message.explanation, "\n".join(f"- {h}" for h in message.hints)
    advice = [hint.removeprefix("- ") for hint in hints.split("\n") if hint.startswith("- ")]
    pieces = [
        tag("p", parts.prose(explanation), id=anchor(identity)),
        tag("ul", *(tag("li", parts.prose(hint)) for hint in advice)) if advice else NOTHING,
        *(
            _example_html(identity, i, example, path_to_root)
            for i, example in enumerate(shown_examples)
        ),
    ]
    names = ", ".join(dict.fromkeys(example.name for example in shown_examples))
    fold = parts.fold(f"{identity} {kind}: {names}", tag("div", *pieces), search=False)
    return tag("div", fold, class_="tclab tclab-mended")


def _example_html(identity: str, number: int, example: Example, path_to_root: str) -> Html:
    link = tag("a", esc(example.name), href=path_to_root + example.url)
    sides = [("breaks", example.before), ("mended", example.after)]
    codes = [_code_html(f"{identity}-{number}-{side}", side, code) for side, code in sides if code]
    return join([tag("p", tag("strong", link)), tag("div", *codes, class_="tclab-sides")])


def _code_html(prefix: str, side: str, code: str) -> Html:
    options = Options(prefix)
    body = highlight.block(code, "python", options, anchors=False, label=side)
    return tag("div", tag("p", esc(side), class_="tclab-filename"), body)
