"""MkDocs events: run what is stale before rendering, add assets and downloads, check.

Any problem ends the build with all problems listed and exit code 1, with or without
``--strict`` and ``-q``. Problems found before rendering leave the last site as it was.
"""

from __future__ import annotations

import calendar
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from jinja2 import Environment
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import BuildError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import CombinedEvent, event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as SitePage

from tclab import render
from tclab.errors import PageError, TclabError
from tclab.page import book, downloads, engine, fragments, labs, progress, proofs, state
from tclab.page.blocks import Page
from tclab.page.prose import references
from tclab.page.reference import changed
from tclab.page.site import (
    cards,
    chapters,
    crumbs,
    descriptions,
    foot,
    names,
    search,
    tables,
    theme,
    twins,
    writable,
)
from tclab.render.escape import NOTHING

log = logging.getLogger("mkdocs.plugins.tclab")

_ASSETS = "assets/tclab"

#: What takes the width of the window.
_BROAD = ("tclab-chain", "tclab-entries")

#: A page with a chain is as wide as the window, and on a phone "Back to top" stands below, where no
#: stages are chosen. A style of its own, not ``:has(.tclab-chain)``: a browser would look for it
#: again at every change within the viewer, and style the page anew.
_WIDE = (
    "<style>@media screen and (min-width: 45em) {"
    ".md-main__inner { max-width: min(100%, 110rem) }"
    ".md-content__inner > :is(.tclab-listing, .md-typeset__scrollwrap, .tclab-prose, h2, h3)"
    " { max-width: 40rem }"
    "}@media screen and (max-width: 44.99em) {"
    # A script writes its top.
    ".md-top { inset: auto .4rem .4rem auto; top: auto !important; margin: 0 }"
    "}</style>"
)


#: What the theme would write into links as it is. The address of a folder has no ? and no #.
_NO_ADDRESS = re.compile(r"""^(?!https?://)|[\s"'<>&`\\{}|^?#\x00-\x20\x7f]""", re.IGNORECASE)


def on_startup(command: str, dirty: bool) -> None:
    """Under `serve` the process that snippets are forked from stays."""
    if command == "serve":
        progress.start_serving()


def on_shutdown() -> None:
    """End what `on_startup` began."""
    progress.stop_serving()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Route markdown-exec through this package; link the assets of the outputs."""
    if config.site_url and _NO_ADDRESS.search(config.site_url):
        step = "set SITE_URL, or site_url in mkdocs.yml, to an address such as https://host/path/"
        cause = f"site_url: {config.site_url!r} is no address of a site"
        raise failed([PageError("mkdocs.yml", cause, step)])
    engine.install()
    config.markdown_extensions.append(tables.Tables())
    config.extra_css.extend(f"{_ASSETS}/{name}" for name in render.STYLES)
    config.extra_javascript.extend(f"{_ASSETS}/{name}" for name in render.SCRIPTS)
    return config


def on_pre_build(config: MkDocsConfig) -> None:
    """Run what is stale and choose the runs; nothing has been written yet."""
    root = Path(config.config_file_path).parent
    try:
        writable.check(Path(config.site_dir))
        opened = book.open_book(root, Path(config.docs_dir), progress.run)
    except book.Problems as error:
        raise failed(error.problems) from None
    except TclabError as error:
        raise failed([error]) from None
    if problems := proofs.problems(opened):
        raise failed(problems)
    state.begin(opened).site = Path(config.site_dir)
    references.remember(opened.store_path / "sources.json")
    os.environ.setdefault("SOURCE_DATE_EPOCH", str(newest_day(opened)))


def newest_day(opened: book.Book) -> int:
    """The newest date of a shown run, in seconds: the site's date, whenever it is built."""
    days = [run.provenance.date[:10] for runs in opened.runs.values() for run in runs]
    return calendar.timegm(time.strptime(max(days, default="2026-01-01"), "%Y-%m-%d"))


@event_priority(100)  # before mkdocs-jupyter looks for notebooks
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the outputs' assets, and every snippet as .py and .ipynb."""
    for name in (*render.STYLES, *render.SCRIPTS):
        files.append(File.generated(config, f"{_ASSETS}/{name}", content=render.asset(name)))
    opened = state.build().book
    contents = (downloads.files(s, opened.here.torch, opened.here.triton)
            for s in opened.snippets.values())  # fmt: skip
    for name, content in dict(file for each in contents for file in each).items():
        files.append(File.generated(config, name, content=content))
    try:
        labs.add_files(files, config)
    except TclabError as error:
        raise failed([error]) from None
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Keep the order of the pages; the first one, which shows a bit of all, comes last."""
    urls = sorted(nav.pages, key=lambda page: bool(page.is_homepage))
    state.build().order = [page.url for page in urls]
    state.build().listed = nav.pages
    return nav


def on_page_markdown(
    markdown: str, page: SitePage, config: MkDocsConfig, files: Files, **_: Any
) -> str:
    """The page as the book read it, with its proofs, its references to the source and the links of
    its stage; each executable fence marked with where it stands.
    """
    build = state.build()
    if labs.is_lab(page):  # its prose was read when its notebook was made
        return markdown
    path = Path(config.docs_dir, page.file.src_uri)
    text = build.book.pages[path.relative_to(build.book.root).as_posix()]
    page.meta.setdefault("description", descriptions.first(markdown))
    try:
        proven = proofs.link(text, page.url, build.book)
        marked = engine.mark(proven, text, page.url)
        linked, problems = references.link(text, marked)
        linked = "\n".join(linked.split("\n")[text.body_line - 1 :]).lstrip("\n")
        explorer = files.get_file_from_path(page.meta.get("explorer", ""))
        title = explorer.page.title if explorer and explorer.page else ""
        linked = chapters.with_links(linked, page.meta, build.book, page, str(title))
    except TclabError as error:
        build.failures.append(error)
        return ""
    build.failures.extend(problems)
    return linked


def on_page_content(html: str, page: SitePage, **_: Any) -> str:
    """A function of the explorer gets its way to the others; of a lab the notebook stays. A page
    with proofs gets the box that shows them all. Below a page of Markdown stands how to run it.
    """
    switch = NOTHING if page.is_homepage else proofs.switch(html)
    if labs.is_lab(page):
        return switch + labs.slim(html)
    build, path = state.build(), f"docs/{page.file.src_uri}"
    way = crumbs.crumbs(page, build.page(path, page.url).code)
    return way + switch + html + foot.foot(build.book, path, page.url)


def on_env(env: Environment, config: MkDocsConfig, files: Files) -> Environment:
    """Every page has been rendered, none written: end here if any block failed."""
    build = state.build()
    problems = [*build.failures, *build.uncounted()]
    if problems:
        raise failed(problems)
    references.save(build.book.store_path / "sources.json")
    aside = (file for page in build.pages.values() for file in page.files.items())
    for path, content in dict(aside).items():  # two pages may show one chain
        files.append(File.generated(config, path, content=content))
    return env


@event_priority(100)  # before the search plugin reads the page
def _show_prose_only(context: Any, /, *, page: Any, **_: Any) -> Any:
    page.whole_content = page.content
    page.content = search.prose(search.with_questions(page.content, page.meta.get("asked", ())))
    return context


@event_priority(-100)  # after it
def _show_all(context: Any, /, *, page: Any, **_: Any) -> Any:
    page.content = page.whole_content
    return context


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """Say on the page for lost addresses where to go on."""
    if template_name != "404.html":
        return output
    output = foot.not_found(output, listed(state.build().listed), config.site_url or "/")
    return theme.light(theme.named(output))


def on_post_page(output: str, page: SitePage, config: MkDocsConfig) -> str:
    """Name what Material's templates leave without a name; let the search index wait.

    A page with a chain or with entries is wide, from its first paint on: its style is in its head.
    A site with an address has a picture for each page.
    """
    head = _WIDE if any(f'class="{name}"' in output for name in _BROAD) else ""
    if config.site_url:
        words = (str(config.site_name), str(page.title), page.meta.get("description", ""))
        cards.write(Path(config.site_dir), page.url, *words)
        head += cards.head(page.url, config.site_url, *words)
    return theme.light(theme.named(output.replace("</head>", head + "</head>", 1)))


on_page_context = CombinedEvent(_show_prose_only, _show_all)


@event_priority(-50)  # after the search plugin has written its index, before the offline plugin
def on_post_build(config: MkDocsConfig) -> None:
    """Write the names that the search finds; hold the promise that torch is never imported here."""
    if "torch" in sys.modules:
        raise BuildError("the process of the site generator has imported torch")
    build = state.build()
    by_url = {page.url: page for page in build.pages.values()}
    words = [by_url[url] for url in build.order if url in by_url]
    names.write(Path(config.site_dir, "search"), words, build.concordance())
    twins.write(Path(config.site_dir), build.book, listed(build.listed), about(config))
    if not theme.mend_search(Path(config.site_dir)):
        log.warning("Material's search has another lunr: see `mend_search` in tclab/page/site")
    for line in changed_names(words, build):
        log.info(line)
    fragments.sweep()


def on_build_error(error: Exception) -> None:
    """A disk that is full while the site is written: said, and no half of a site stays."""
    if problem := writable.failure(error, state.site()):
        raise failed([problem]) from error


def changed_names(pages: list[Page], build: state.Build) -> Iterator[str]:
    """What came and went in the installed PyTorch, against the lists of `docs/reference/names/`."""
    groups = [group for page in pages for group in page.groups]
    return changed.report(groups, build.known_names, build.concordance())


def listed(pages: list[SitePage]) -> list[twins.Listed]:
    """The pages of the navigation, each in its section."""
    return [
        twins.Listed(
            page.parent.title if page.parent else "Get started",
            str(page.title),
            page.url,
            page.meta.get("description", ""),
        )
        for page in pages
    ]


def about(config: MkDocsConfig) -> dict[str, str]:
    """The site's name, what it is, and where it is; '' for anywhere."""
    site = {"name": config.site_name, "description": config.site_description or ""}
    return site | {"url": config.site_url or ""}


def on_serve(
    server: LiveReloadServer, config: MkDocsConfig, builder: Callable[..., None]
) -> LiveReloadServer:
    """Rebuild when a snippet, the package or a recording is saved; only what is stale runs."""
    root = Path(config.config_file_path).parent
    for folder in ("snippets", "src", "records"):
        if (root / folder).is_dir():
            server.watch(str(root / folder))
    return server


def failed(problems: Iterable[TclabError]) -> BuildError:
    """The end of a build: every problem once, each with place, cause and next step."""
    texts = list(dict.fromkeys(str(problem) for problem in problems))
    head = "1 problem" if len(texts) == 1 else f"{len(texts)} problems"
    return BuildError("\n".join([f"{head}; the site is not built.", *texts]))
