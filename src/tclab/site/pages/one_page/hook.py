"""Handle MkDocs events for a build of one page, as for the whole site but with fewer snippets.

`extra.one_page` of the configuration is the page, as a path below `docs/`.
"""

from __future__ import annotations

import logging
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import BuildError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

from tclab.model import Run, Snippet
from tclab.site.pages import hooks, lab_pages, progress, state
from tclab.site.pages.book import Book
from tclab.site.pages.hooks import (  # noqa: F401
    on_build_error,
    on_env,
    on_page_content,
    on_post_page,
)
from tclab.site.pages.one_page.page_book import has_explorer_run, open_page

log = logging.getLogger("mkdocs.plugins.tclab")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Configure the build as for the whole site, without its static templates."""
    config.theme.static_templates.clear()
    return hooks.on_config(config)


def on_pre_build(config: MkDocsConfig) -> None:
    """Run the page's stale snippets, and choose its runs."""
    page = f"{Path(config.docs_dir).name}/{config.extra['one_page']}"
    hooks.open_build(config, partial(open_page, page=page, run=_run))


def _run(book: Book, stale: list[Snippet]) -> dict[str, Run]:
    log.info("tclab: stale: %s", ", ".join(snippet.name for snippet in stale))
    return progress.run_stale(book, stale)


@event_priority(100)
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the outputs' assets and the downloads; replace each lab's source by an empty page.

    The empty page is not built, but the navigation and other pages link to it.
    """
    hooks.add_files(files, config)
    if template := files.get_file_from_path("sitemap.xml"):
        files.remove(template)
    for source in [f for f in files if re.fullmatch(rf"{lab_pages.FOLDER}/lab\w+\.py", f.src_uri)]:
        files.remove(source)
        page = File.generated(config, source.src_uri.replace(".py", ".ipynb"), content="")
        page.dest_uri = source.src_uri.replace(".py", ".html")
        page.inclusion = InclusionLevel.EXCLUDED
        files.append(page)
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Exclude all other pages from the build, but keep them known as targets of links."""
    for file in files.documentation_pages():
        if file.src_uri != config.extra["one_page"]:
            file.inclusion = InclusionLevel.EXCLUDED
    return hooks.on_nav(nav, config, files)


def on_page_markdown(
    markdown: str, page: Page, config: MkDocsConfig, files: Files, **_: Any
) -> str:
    """Return the page's Markdown, without the link to a stage if the run for this link does not
    exist.
    """
    book = state.build().book
    if not has_explorer_run(book, book.pages[f"{book.docs.name}/{page.file.src_uri}"]):
        page.meta.pop("explorer", None)
    return hooks.on_page_markdown(markdown, page=page, config=config, files=files)


def on_post_build(config: MkDocsConfig) -> None:
    """Raise BuildError if torch was imported."""
    if "torch" in sys.modules:
        raise BuildError("the process of the site generator has imported torch")
