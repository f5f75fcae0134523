"""Keep the state of a build while it renders the pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mkdocs.structure.pages import Page as SitePage

from tclab.errors import PageError, TclabError
from tclab.model import slug
from tclab.site.pages.book import Book
from tclab.site.pages.reference.concordance import Concordance, build_concordance
from tclab.site.pages.rendering import AT_THE_MARGIN, Page
from tclab.site.versions import name_lists


@dataclass
class Build:
    """The state of one build: the book, the rendered pages, and the failures so far."""

    book: Book
    site: Path | None = None  # the folder that the build writes to
    failures: list[TclabError] = field(default_factory=list)
    current_page: Page = field(default_factory=lambda: Page("?"))  # the page being rendered
    pages: dict[str, Page] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)  # addresses in the order of the navigation
    navigation_pages: list[SitePage] = field(default_factory=list)  # in the order of the navigation
    _concordance: Concordance | None = None

    def page(self, path: str, url: str = "") -> Page:
        """Return the page at `path`; its anchors are known before its blocks run."""
        if path not in self.pages:
            self.pages[path] = Page(path, url, self.anchors(path))
        return self.pages[path]

    def anchors(self, path: str) -> dict[str, str]:
        """Map the file of each snippet that the page lists to the prefix of its lines' ids."""
        listed = (u.snippet for u in self.book.uses if u.page == path and u.lists_code)
        return {f"snippets/{name}.py": f"src-{slug(name)}" for name in listed}

    def concordance(self) -> Concordance:
        """Return the index of the pages that show each name; built once per build."""
        if self._concordance is None:
            order = self.order or list(map(self.book.url, self.book.pages))
            self._concordance = build_concordance(self.book, order)
        return self._concordance

    @cached_property
    def known_names(self) -> name_lists.NamesByVersion:
        """The names in each version of PyTorch; read once per build."""
        return name_lists.read_lists(self.book.docs / name_lists.FOLDER)

    def unexecuted_blocks(self) -> list[TclabError]:
        """Return the errors for executable fences of rendered pages that did not run."""
        return [
            PageError(str(block), "this executable fence did not run", AT_THE_MARGIN)
            for page in self.pages.values()
            for block in page.waiting_blocks
        ]


_build: Build | None = None


def begin_build(book: Book) -> Build:
    """Start a build and forget the previous one."""
    global _build
    _build = Build(book)
    return _build


def build() -> Build:
    """Return the current build. Raises PageError if none has begun."""
    if _build is None:
        raise PageError(
            "tclab.site.pages", "no build has begun", "build the site with mkdocs build"
        )
    return _build


def site_folder() -> Path | None:
    """Return the folder that the current build writes to; None before it is known."""
    return _build.site if _build else None
