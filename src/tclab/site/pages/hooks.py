"""Handle MkDocs' events: run stale snippets before rendering, add assets and downloads, check
pages.

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
from functools import partial
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
from tclab.render.escape import NOTHING
from tclab.site.pages import (
    binding_html,
    block_runner,
    book,
    downloads,
    fragments,
    lab_pages,
    progress,
    proofs,
    state,
)
from tclab.site.pages.prose import references
from tclab.site.pages.reference import name_changes
from tclab.site.pages.rendering import Page
from tclab.site.pages.site import (
    breadcrumbs,
    cards,
    chapters,
    descriptions,
    footer,
    markdown_pages,
    search_names,
    search_text,
    site_folder,
    stamps,
    tables,
    theme,
    unbroken,
)

log = logging.getLogger("mkdocs.plugins.tclab")

_ASSETS = "assets/tclab"

#: Classes of elements that need the full width of the window.
_WIDE_CLASSES = ("tclab-chain", "tclab-entries")

#: Asks for the letters before the styles name them, so that they are there at the first paint. From
#: a disk a browser refuses to load them ahead.
_FONT = (
    "<script>location.protocol=='file:'||document.head.append(Object.assign(document."
    "createElement('link'),{rel:'preload',as:'font',crossOrigin:'',href:'%sassets/fonts/inter.woff2'"
    "}))</script>"
)

#: A style that widens a page with a chain to the window's right edge; the left edge stays aligned
#: with the header. The style does not use ``:has(.tclab-chain)``, which makes a browser restyle the
#: page at each change in the viewer.
_WIDE_STYLE = (
    "<style>@media screen and (min-width: 45em) {"
    ".md-main__inner { max-width: min(100%, 110rem); margin-left: max(0px, 50% - 34rem) }"
    ".md-content__inner > :is(.tclab-listing, .md-typeset__scrollwrap, .tclab-prose, h2, h3)"
    " { max-width: 40rem }"
    "}</style>"
)


#: Matches a site's address that is not an http URL of a folder. Such an address is refused, because
#: the theme writes the address into links without escaping it.
_INVALID_ADDRESS = re.compile(r"""^(?!https?://)|[\s"'<>&`\\{}|^?#\x00-\x20\x7f]""", re.IGNORECASE)


def on_startup(command: str, dirty: bool) -> None:
    """Under `serve`, keep one warm process that snippets are forked from."""
    if command == "serve":
        progress.start_serving()


def on_shutdown() -> None:
    """End the warm process that `on_startup` keeps."""
    progress.stop_serving()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Route markdown-exec through this package, and link the assets of the outputs."""
    if config.site_url and _INVALID_ADDRESS.search(config.site_url):
        step = "set SITE_URL, or site_url in mkdocs.yml, to an address such as https://host/path/"
        cause = f"site_url: {config.site_url!r} is no address of a site"
        raise build_error([PageError("mkdocs.yml", cause, step)])
    block_runner.install()
    config.markdown_extensions.append(tables.PhoneTables())
    config.extra_css.extend(f"{_ASSETS}/{name}" for name in render.STYLES)
    config.extra_javascript.extend(f"{_ASSETS}/{name}" for name in render.SCRIPTS)
    return config


def on_pre_build(config: MkDocsConfig) -> None:
    """Run the stale snippets and choose the runs, before MkDocs writes a file."""
    open_build(config, partial(book.open_book, run=progress.run_stale))


def open_build(config: MkDocsConfig, open_book: Callable[[Path, Path], book.Book]) -> None:
    """Open the book of a build. Raises BuildError, which lists all problems of the book."""
    root = Path(config.config_file_path).parent
    try:
        site_folder.check_writable(Path(config.site_dir))
        opened = open_book(root, Path(config.docs_dir))
    except book.Problems as error:
        raise build_error(error.problems) from None
    except TclabError as error:
        raise build_error([error]) from None
    if problems := proofs.problems(opened):
        raise build_error(problems)
    for name, run in opened.unsteady.items():
        why = run.failure.message if run.failure else ""
        log.info("tclab: %s was unsteady here, so its recording is shown: %s", name, why)
    state.begin_build(opened).site = Path(config.site_dir)
    references.load_locations(opened.store_path / "sources.json")
    os.environ.setdefault("SOURCE_DATE_EPOCH", str(newest_run_time(opened)))


def newest_run_time(opened_book: book.Book) -> int:
    """Return the newest date of a shown run, in seconds. The site has this date, so that it does
    not depend on the day of the build.
    """
    days = [run.provenance.date[:10] for runs in opened_book.runs.values() for run in runs]
    return calendar.timegm(time.strptime(max(days, default="2026-01-01"), "%Y-%m-%d"))


@event_priority(100)  # run before mkdocs-jupyter looks for notebooks
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the outputs' assets, every snippet as .py and .ipynb, and the labs' pages."""
    add_files(files, config)
    try:
        lab_pages.add_files(files, config)
    except TclabError as error:
        raise build_error([error]) from None
    return files


def add_files(files: Files, config: MkDocsConfig) -> None:
    """Add the outputs' assets, and every snippet of the book as .py and .ipynb."""
    for name in (*render.STYLES, *render.SCRIPTS):
        files.append(File.generated(config, f"{_ASSETS}/{name}", content=render.asset(name)))
    opened = state.build().book
    contents = (downloads.download_files(s, opened.here.torch, opened.here.triton)
            for s in opened.snippets.values())  # fmt: skip
    for name, content in dict(file for each in contents for file in each).items():
        files.append(File.generated(config, name, content=content))


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Store the order of the pages, with the home page last, because it repeats parts of the
    others.
    """
    urls = sorted(nav.pages, key=lambda page: bool(page.is_homepage))
    state.build().order = [page.url for page in urls]
    state.build().navigation_pages = nav.pages
    return nav


def on_page_markdown(
    markdown: str, page: SitePage, config: MkDocsConfig, files: Files, **_: Any
) -> str:
    """Return the page's Markdown with its proofs, source references and chapter links."""
    build = state.build()
    if lab_pages.is_lab(page):  # the lab's notebook already has links and proofs
        return markdown
    path = Path(config.docs_dir, page.file.src_uri)
    text = build.book.pages[path.relative_to(build.book.root).as_posix()]
    page.meta.setdefault("description", descriptions.opening(markdown))
    try:
        with_proofs = proofs.link_proofs(text, page.url, build.book)
        linked, problems = references.link_references(text, with_proofs)
        linked = "\n".join(linked.split("\n")[text.body_line - 1 :]).lstrip("\n")
        explorer = files.get_file_from_path(page.meta.get("explorer", ""))
        title = explorer.page.title if explorer and explorer.page else ""
        linked = chapters.add_flow_and_links(linked, page.meta, build.book, page, str(title))
    except TclabError as error:
        build.failures.append(error)
        return ""
    build.failures.extend(problems)
    block_runner.begin_page(text, page.url)
    return linked


def on_page_content(html: str, page: SitePage, **_: Any) -> str:
    """Add breadcrumbs, the proofs checkbox and the footer, which has the stamps of the whole page.
    For a lab's page, keep only the notebook of the page.

    A binding that is left in the HTML fails the build.
    """
    build, path = state.build(), f"docs/{page.file.src_uri}"
    build.failures.extend(
        binding_html.find_leftover_bindings(html, path, build.book.pages.get(path))
    )
    html = binding_html.restore_text(html)
    checkbox = NOTHING if page.is_homepage else proofs.proofs_switch(html)
    if lab_pages.is_lab(page):
        return checkbox + lab_pages.extract_notebook(html)
    navigation = breadcrumbs.breadcrumbs(page, build.page(path, page.url).code_anchor)
    html, machines = stamps.say_once(unbroken.keep_words(html))
    return navigation + checkbox + html + machines + footer.page_footer(build.book, path, page.url)


def on_env(env: Environment, config: MkDocsConfig, files: Files) -> Environment:
    """Fail the build if any block failed. At this point all pages are rendered, and none is
    written.
    """
    build = state.build()
    problems = [*build.failures, *build.unexecuted_blocks()]
    if problems:
        raise build_error(problems)
    references.save_locations(build.book.store_path / "sources.json")
    page_files = (file for page in build.pages.values() for file in page.files.items())
    for path, content in dict(page_files).items():  # two pages may show the same chain
        files.append(File.generated(config, path, content=content))
    return env


@event_priority(100)  # run before the search plugin reads the page
def _show_prose_only(context: Any, /, *, page: Any, **_: Any) -> Any:
    page.whole_content = page.content
    page.content = search_text.searchable_html(page.content)
    return context


@event_priority(-100)  # run after the search plugin has read the page
def _show_all(context: Any, /, *, page: Any, config: Any, **_: Any) -> Any:
    page.content = page.whole_content
    search = config.plugins["material/search"]
    search_text.add_questions(search.search_index.entries, page.url, page.meta.get("asked", ()))
    return context


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """Fill the 404 page with links to the chapters."""
    if template_name != "404.html":
        return output
    output = footer.fill_not_found_page(
        output, listed_pages(state.build().navigation_pages), config.site_url or "/"
    )
    return theme.insert_scripts(theme.label_controls(output))


def on_post_page(output: str, page: SitePage, config: MkDocsConfig) -> str:
    """Add labels, scripts and head tags that Material's templates lack.

    The wide style is in the head, so that a wide page is wide from its first paint. A site with an
    address gets a preview card for each page.
    """
    head = _FONT % ("../" * page.url.count("/"))
    head += _WIDE_STYLE if any(f'class="{name}"' in output for name in _WIDE_CLASSES) else ""
    if config.site_url:
        words = (str(config.site_name), str(page.title), page.meta.get("description", ""))
        cards.write_card(Path(config.site_dir), page.url, *words)
        head += cards.head_tags(page.url, config.site_url, *words)
    return theme.insert_scripts(
        theme.label_controls(output.replace("</head>", head + "</head>", 1))
    )


on_page_context = CombinedEvent(_show_prose_only, _show_all)


# run after the search plugin has written its index and before the offline plugin
@event_priority(-50)
def on_post_build(config: MkDocsConfig) -> None:
    """Write the search names and the Markdown pages. Raises BuildError if this process imported
    torch.
    """
    if "torch" in sys.modules:
        raise BuildError("the process of the site generator has imported torch")
    build = state.build()
    by_url = {page.url: page for page in build.pages.values()}
    words = [by_url[url] for url in build.order if url in by_url]
    search_names.write_names(Path(config.site_dir, "search"), words, build.concordance())
    markdown_pages.write(
        Path(config.site_dir), build.book, listed_pages(build.navigation_pages), site_facts(config)
    )
    if not theme.fix_search_worker(Path(config.site_dir)):
        log.warning(
            "Material's search has another lunr: see `fix_search_worker` in tclab/site/pages/site"
        )
    for line in name_change_lines(words, build):
        log.info(line)
    fragments.remove_outdated()


def on_build_error(error: Exception) -> None:
    """Report a failed write, such as a full disk, and remove the incomplete site."""
    if problem := site_folder.remove_unfinished_site(error, state.site_folder()):
        raise build_error([problem]) from error


def name_change_lines(pages: list[Page], build: state.Build) -> Iterator[str]:
    """Yield a line for each table of names that differs between the installed PyTorch and
    `docs/reference/names/`.
    """
    groups = [group for page in pages for group in page.groups]
    return name_changes.report_changes(groups, build.known_names, build.concordance())


def listed_pages(pages: list[SitePage]) -> list[markdown_pages.ListedPage]:
    """Return the pages of the navigation with their tabs."""
    return [
        markdown_pages.ListedPage(
            str([page, *page.ancestors][-1].title),
            str(page.title),
            page.url,
            page.meta.get("description", ""),
        )
        for page in pages
    ]


def site_facts(config: MkDocsConfig) -> dict[str, str]:
    """Return the site's name, description and url; the url is '' if the site has none."""
    site = {"name": config.site_name, "description": config.site_description or ""}
    return site | {"url": config.site_url or ""}


def on_serve(
    server: LiveReloadServer, config: MkDocsConfig, builder: Callable[..., None]
) -> LiveReloadServer:
    """Rebuild when a snippet, the package or a recording changes; only stale snippets run."""
    root = Path(config.config_file_path).parent
    for folder in ("snippets", "src", "records"):
        if (root / folder).is_dir():
            server.watch(str(root / folder))
    return server


def build_error(problems: Iterable[TclabError]) -> BuildError:
    """Return the error that ends a build; it lists each problem once with place, cause and next
    step.
    """
    texts = list(dict.fromkeys(str(problem) for problem in problems))
    head = "1 problem" if len(texts) == 1 else f"{len(texts)} problems"
    return BuildError("\n".join([f"{head}; the site is not built.", *texts]))
