"""What one build of the site knows while it renders its pages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mkdocs.structure.pages import Page as SitePage

from tclab.errors import PageError, TclabError
from tclab.model import slug
from tclab.page.blocks import Page
from tclab.page.book import Book
from tclab.page.reference import versions
from tclab.page.reference.concordance import Concordance, concordance


@dataclass
class Build:
    """The book, and what went wrong or was counted while its pages were rendered."""

    book: Book
    site: Path | None = None  # the folder it is written to
    failures: list[TclabError] = field(default_factory=list)
    expected: Counter[str] = field(default_factory=Counter)  # executable fences, by page
    executed: Counter[str] = field(default_factory=Counter)
    pages: dict[str, Page] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)  # urls, as the navigation has them
    listed: list[SitePage] = field(default_factory=list)  # in the order of the navigation
    _concordance: Concordance | None = None

    def page(self, path: str, url: str = "") -> Page:
        """The page at `path`; its listings' anchors are known before its blocks run."""
        if path not in self.pages:
            self.pages[path] = Page(path, url, self.anchors(path))
        return self.pages[path]

    def anchors(self, path: str) -> dict[str, str]:
        """File of each snippet whose code stands on the page, and the prefix of its ids."""
        listed = (u.snippet for u in self.book.uses if u.page == path and u.lists_code)
        return {f"snippets/{name}.py": f"src-{slug(name)}" for name in listed}

    def concordance(self) -> Concordance:
        """Which page shows a name; read once a build."""
        if self._concordance is None:
            order = self.order or list(map(self.book.url, self.book.pages))
            self._concordance = concordance(self.book, order)
        return self._concordance

    @cached_property
    def known_names(self) -> versions.Known:
        """The names that each version of PyTorch has; read once a build."""
        return versions.read(self.book.docs / versions.FOLDER)

    def uncounted(self) -> list[TclabError]:
        """Pages of which some executable fence did not run."""
        return [
            PageError(
                f"{page}:1",
                f"{self.executed[page]} of {number} executable fences ran",
                "a fence must stand at the margin of its paragraph, list item or tab",
            )
            for page, number in self.expected.items()
            if self.executed[page] != number
        ]


_build: Build | None = None


def begin(book: Book) -> Build:
    """Start a build; forgets the last one."""
    global _build
    _build = Build(book)
    return _build


def build() -> Build:
    """The build that is going on."""
    if _build is None:
        raise PageError("tclab.page", "no build has begun", "build the site with mkdocs build")
    return _build


def site() -> Path | None:
    """The folder of the build that is going on; None where none has come so far."""
    return _build.site if _build else None
