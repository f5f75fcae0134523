"""What a chapter says of itself in its front matter: where it is on the way of a call through the
compiler, and its stage in the explorer.

    ---
    flow: codegen
    explorer: explorer/softmax.md
    stage: kernel
    ---

The way is a drawing below the first paragraph. Below the chapter's first words stands a link to
that stage of that page's chain, and the command that shows the same of the reader's own function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mkdocs.structure.pages import Page as SitePage

from tclab.errors import PageError
from tclab.model import Chain, slug
from tclab.page.book import Book
from tclab.page.site import flow
from tclab.render.escape import esc, markup, tag
from tclab.render.options import Options
from tclab.render.stages import label
from tclab.render.viewer.panes import Panes

#: The page about the command.
_COMMAND = "explain.html"


def with_links(
    markdown: str, meta: Mapping[str, Any], book: Book, page: SitePage, title: str
) -> str:
    """The chapter's Markdown with its drawing behind its first paragraph, and its links before its
    first section; unchanged without any.

    `title` is that of the page of the explorer. PageError where that has no such stage.
    """
    up = "../" * page.url.count("/")
    place = f"docs/{page.file.src_uri}:1"
    if drawn := flow.drawing(meta.get("flow"), up, place):
        heading, question, rest = markdown.split("\n\n", 2)
        markdown = f"{heading}\n\n{question}\n\n{drawn}\n\n{rest}"
    if "explorer" not in meta:
        return markdown
    explorer = f"docs/{meta['explorer']}"
    anchor, label = _pane(book, explorer, str(meta.get("stage")), place)
    target = f"{up}{book.url(explorer)}#{anchor}"
    stage = tag("a", esc(f"{label} of {title}"), href=target)
    own = tag("a", tag("code", esc("tclab explain FILE:NAME")), href=up + _COMMAND)
    links = markup("In the explorer: {}. Of your own function: {}.", stage, own)
    html = tag("p", links, class_="tclab-see")
    head, mark, rest = markdown.partition("\n## ")
    return f"{head}\n\n{html}\n{mark}{rest}"


def _pane(book: Book, path: str, stage: str, place: str) -> tuple[str, str]:
    """(anchor, label) of the first pane of a stage on a page of the explorer."""
    for use in book.uses:
        if use.page == path and use.function == "show":
            run = book.runs_of(use.snippet, place)[0]
            for chain in (each for each in run.artifacts if isinstance(each, Chain)):
                prefix = slug(f"{use.snippet}-{run.environment}-{chain.name}")
                panes = Panes(chain, Options(prefix=prefix))
                for number, pane in enumerate(chain.panes):
                    if pane.stage == stage:
                        return panes.id(number), label(stage)
    step = "name a page of docs/explorer, and a stage its chain has, such as dynamo or kernel"
    raise PageError(place, f"{path} shows no stage {stage!r}", step)
