"""Add to a chapter the parts that its front matter names: its place in the compiler and its stage
in the explorer.

    ---
    flow: codegen
    picture: way
    explorer: explorer/softmax.md
    stage: kernel
    ---

The line of stages and the picture come below the question; a page that opens with a table has
``<!-- picture -->`` where its picture belongs. The link to the stage of the explorer's
page comes before the first section, with the command that shows the same for the reader's own
function.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from mkdocs.structure.pages import Page as SitePage

from tclab.errors import PageError
from tclab.model import Artifact, Chain, slug
from tclab.render.escape import esc, markup, tag
from tclab.render.options import Options
from tclab.render.stages import label
from tclab.render.viewer.panes import Panes
from tclab.site.pages.book import Book
from tclab.site.pages.site import flow, ideas

#: The page about `tclab explain`.
_COMMAND = "explain.html"
_PLACE = "<!-- picture -->"


def add_flow_and_links(
    markdown: str, meta: Mapping[str, Any], book: Book, page: SitePage, title: str
) -> str:
    """Add the stages, the picture and the explorer links that its front matter names to a chapter's
    Markdown.

    `title` is the title of the explorer's page. Raises PageError if that page has no such stage.
    """
    up = "../" * page.url.count("/")
    place = f"docs/{page.file.src_uri}:1"
    drawings = [flow.strip(meta.get("flow"), up, place)]
    if "picture" in meta:
        drawn = ideas.drawing(meta["picture"], partial(_artifacts, book, place), up, place)
        if _PLACE in markdown:
            markdown = markdown.replace(_PLACE, drawn, 1)
        else:
            drawings.append(drawn)
    if any(drawings):
        heading, question, rest = markdown.split("\n\n", 2)
        markdown = "\n\n".join([heading, question, *filter(None, drawings), rest])
    if "explorer" not in meta:
        return markdown
    explorer = f"docs/{meta['explorer']}"
    anchor, label = _find_pane(book, explorer, str(meta.get("stage")), place)
    target = f"{up}{book.url(explorer)}#{anchor}"
    stage = tag("a", esc(f"{label} of {title}"), href=target)
    command = tag("a", tag("code", esc("tclab explain FILE:NAME")), href=up + _COMMAND)
    links = markup("In the explorer: {}. Of your own function: {}.", stage, command)
    html = tag("p", links, class_="tclab-see")
    head, separator, rest = markdown.partition("\n## ")
    return f"{head}\n\n{html}\n{separator}{rest}"


def _artifacts(book: Book, place: str, snippet: str) -> dict[str, Artifact]:
    """Return what the chosen run of a snippet showed, by name."""
    return {each.name: each for each in book.select_runs(snippet, place)[0].artifacts}


def _find_pane(book: Book, path: str, stage: str, error_place: str) -> tuple[str, str]:
    """Return the (anchor, label) of the first pane of a stage on a page of the explorer."""
    for use in book.uses:
        if use.page == path and use.function == "show":
            run = book.select_runs(use.snippet, error_place)[0]
            for chain in (each for each in run.artifacts if isinstance(each, Chain)):
                prefix = slug(f"{use.snippet}-{run.environment}-{chain.name}")
                panes = Panes(chain, Options(prefix=prefix))
                for number, pane in enumerate(chain.panes):
                    if pane.stage == stage:
                        return panes.id(number), label(stage)
    step = "name a page of docs/explorer, and a stage its chain has, such as dynamo or kernel"
    raise PageError(error_place, f"{path} shows no stage {stage!r}", step)
