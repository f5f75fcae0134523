"""Sites of several PyTorches as one tree: a folder a version, and a way from each page to the same
page of the others. Needs neither scripts nor a server: everything is written into the pages.

    python -m tclab.page.hosted OUT 2.13.0=site 2.15.0=site-torch2.15.0 [--url https://host/path/]

The same sites give the same tree, byte for byte.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import html
import itertools
import json
import posixpath
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from tclab.errors import PageError, TclabError
from tclab.model import Version
from tclab.page.site.compact import compact
from tclab.render.escape import Html, esc, markup, tag

#: What pages name in attributes alone, so that one version can use another's.
_SHARED = re.compile(r"(downloads|assets)/(?!javascripts/workers/).*")
#: Never asked for: languages that the search does not have, and what only a debugger reads.
_LEFT_OUT = re.compile(r"assets/javascripts/lunr/.*|.*\.map|404\.html|sitemap\.xml(\.gz)?")

_LINE = re.compile(r'#([\w.-]+-L\d+)"')
_TITLE = re.compile(
    r'(<div class="md-header__topic">\s*<span class="md-ellipsis">.*?</span>)', re.DOTALL
)
_ANNOUNCE = re.compile(r'(<div data-md-component="announce">)\s*(</div>)')
_CANONICAL = re.compile(r'\s*<link rel="canonical" href="[^"]*">')
#: What a link of a table carries with it, with the end of the file's name.
_DATA = re.compile(r'href="data:[^",]+,([^"]*)"(?= download="[^"]+(\.\w+)")')
_NAMED = re.compile(r'\b(href|(?:data-)?src)="([^"#:?]+)')


@dataclass(frozen=True)
class Site:
    """The built site of one PyTorch."""

    version: str
    folder: Path

    @cached_property
    def files(self) -> list[str]:
        """Paths within the site, those left out that nobody asks for."""
        paths = (path for path in self.folder.rglob("*") if path.is_file())
        names = sorted(path.relative_to(self.folder).as_posix() for path in paths)
        return [name for name in names if not _LEFT_OUT.fullmatch(name)]

    @cached_property
    def pages(self) -> set[str]:
        """The paths of its pages."""
        return {name for name in self.files if name.endswith(".html")}

    @cached_property
    def lines(self) -> frozenset[str]:
        """The ids of lines of code to which its pages link."""
        texts = ((self.folder / name).read_text(encoding="utf-8") for name in self.pages)
        return frozenset(itertools.chain.from_iterable(map(_LINE.findall, texts)))

    @cached_property
    def home(self) -> str:
        """The text of the first page."""
        return (self.folder / "index.html").read_text(encoding="utf-8")

    def nearest(self, page: str) -> str:
        """The same page, or else the first of its chapter that the home leads to, or the home."""
        if page in self.pages:
            return page
        folder = PurePosixPath(page).parent.as_posix()
        chapter = re.search(rf'href="({re.escape(folder)}/[^"#]+\.html)[#"]', self.home)
        return chapter[1] if chapter and chapter[1] in self.pages else "index.html"


@dataclass(frozen=True)
class Tree:
    """All sites, the newest first, and the address of the tree, '' for none."""

    sites: Sequence[Site]
    url: str = ""

    @property
    def newest(self) -> Site:
        return self.sites[0]

    def write(self, out: Path) -> None:
        """Write the tree, in place of one that is there."""
        made = out.with_name(f"{out.name}.new")
        shutil.rmtree(made, ignore_errors=True)
        for site in self.sites:
            self._write_site(site, made / site.version)
        for name, text in self._beside():
            _write(made / name, text)
        shutil.rmtree(out, ignore_errors=True)
        made.rename(out)

    def _write_site(self, site: Site, folder: Path) -> None:
        for name in site.files:
            if name in site.pages:
                text = (site.folder / name).read_text(encoding="utf-8")
                kept = functools.partial(_kept, page=folder / name, tree=folder.parent)
                page = self._page(_DATA.sub(kept, text), site, name)
                _write(folder / name, compact(page, site.lines))
            elif f"{site.version}/{name}" not in self._elsewhere:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(site.folder / name, folder / name)
        if self.url:
            _write(folder / "sitemap.xml", self._sitemap(site))

    @cached_property
    def _elsewhere(self) -> dict[str, str]:
        """Files that are in the tree already, under a name that ends alike: path in the tree of
        each → path of the first with those bytes.
        """
        first, elsewhere = dict[tuple[str, bytes], str](), dict[str, str]()
        for site in self.sites:
            for name in filter(_SHARED.fullmatch, site.files):
                content = hashlib.sha256((site.folder / name).read_bytes()).digest()
                here = f"{site.version}/{name}"
                there = first.setdefault((posixpath.basename(name), content), here)
                if there != here:
                    elsewhere[here] = there
        return elsewhere

    # ------------------------------------------------------------------------ a page

    def _page(self, text: str, site: Site, name: str) -> str:
        text = _NAMED.sub(lambda link: self._moved(link, f"{site.version}/{name}"), text)
        text = _CANONICAL.sub("", text)
        if self.url:
            home = self.newest if name in self.newest.pages else site
            address = esc(f"{self.url}{home.version}/{name}")
            link = markup('<link rel="canonical" href="{}">', address)
            text = text.replace("</title>", f"</title>\n{link}", 1)
        text = _TITLE.sub(lambda title: f"{title[1]}{self._selector(site, name)}", text, count=1)
        if site is self.newest:
            return text
        return _ANNOUNCE.sub(lambda place: f"{place[1]}{self._note(site, name)}{place[2]}", text)

    def _moved(self, link: re.Match[str], page: str) -> str:
        """A link of a page, both from the tree's root on, to the file that is there for it."""
        folder = posixpath.dirname(page)
        there = self._elsewhere.get(posixpath.normpath(posixpath.join(folder, link[2])))
        return f'{link[1]}="{posixpath.relpath(there, folder)}' if there else link[0]

    def _selector(self, here: Site, name: str) -> Html:
        """What Material's script makes of versions.json, made ahead: its style sheet opens it."""
        links = (
            tag("a", esc(site.version), href=_to(site, name), class_="md-version__link")
            for site in self.sites
        )
        items = (tag("li", link, class_="md-version__item") for link in links)
        shown = tag("button", esc(here.version), class_="md-version__current", type="button",
                    aria_label="Select the version of PyTorch")  # fmt: skip
        return tag("div", shown, tag("ul", *items, class_="md-version__list"), class_="md-version")

    def _note(self, here: Site, name: str) -> Html:
        newest = self.newest
        what = "The same page" if name in newest.pages else "Its chapter"
        link = tag("a", esc(f"{what} with PyTorch {newest.version}"), href=_to(newest, name))
        text = markup("This page was made with PyTorch {}. {}.", esc(here.version), link)
        inner = tag("div", text, class_="md-banner__inner md-grid md-typeset")
        return tag("aside", inner, class_="md-banner md-banner--warning")

    # ------------------------------------------------------------------------ beside them

    def _beside(self) -> Iterator[tuple[str, str]]:
        """What lies beside the versions: path and text."""
        yield "versions.json", self._list()
        yield "index.html", self._redirect("index.html", f"{self.newest.version}/index.html")
        for name in sorted(self.newest.pages):
            up = "../" * (name.count("/") + 1)
            yield f"latest/{name}", self._redirect(name, f"{up}{self.newest.version}/{name}")
        yield ".nojekyll", ""  # Pages would leave out what begins with an underscore
        if self.url:
            yield "sitemap.xml", self._sitemaps()
            yield "404.html", self._not_found()

    def _list(self) -> str:
        """The versions as mike and Material's selector read them."""
        listed = [
            {"version": site.version, "title": f"PyTorch {site.version}", "aliases": []}
            | ({"aliases": ["latest"]} if site is self.newest else {})
            for site in self.sites
        ]
        return json.dumps(listed, indent=2) + "\n"

    def _redirect(self, name: str, to: str) -> str:
        address = f"{self.url}{self.newest.version}/{name}" if self.url else to
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
            f"<title>To {to}</title>\n"
            f'<link rel="canonical" href="{address}">\n'
            f'<script>location.replace("{to}" + location.search + location.hash)</script>\n'
            f'<meta http-equiv="refresh" content="0; url={to}"></head>\n'
            f'<body><a href="{to}">This page has moved.</a></body></html>\n'
        )

    def _sitemap(self, site: Site) -> str:
        address = f"{self.url}{site.version}/"
        lines = (f"<url><loc>{esc(address + name)}</loc></url>" for name in sorted(site.pages))
        return _xml("urlset", lines)

    def _sitemaps(self) -> str:
        addresses = (f"{self.url}{site.version}/sitemap.xml" for site in self.sites)
        return _xml("sitemapindex", (f"<sitemap><loc>{esc(a)}</loc></sitemap>" for a in addresses))

    def _not_found(self) -> str:
        """The newest version's page for what is not there; a host shows it at any depth."""
        text = (self.newest.folder / "404.html").read_text(encoding="utf-8")
        own = f"{urlsplit(self.url).path}{self.newest.version}/"
        text = re.sub(rf'\b(href|src)="(?:{re.escape(own)}|/)', rf'\1="{own}', text)
        return re.sub(r'"base": "[^"]*"', f'"base": "{own}"', text)


def _to(site: Site, page: str) -> str:
    """From a page to the nearest one of another version."""
    return f"{'../' * (page.count('/') + 1)}{site.version}/{site.nearest(page)}"


def _kept(link: re.Match[str], page: Path, tree: Path) -> str:
    """A link that carries data, to a file of all versions that has them."""
    text = unquote(html.unescape(link[1]))
    file = tree / "data" / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}{link[2]}"
    _write(file, text)
    return f'href="{posixpath.relpath(file, page.parent)}"'


def _xml(root: str, lines: Iterator[str]) -> str:
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    body = "".join(f"  {line}\n" for line in lines)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{space}">\n{body}</{root}>\n'


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


# ---------------------------------------------------------------------------- the command


def tree(words: Sequence[str], url: str = "") -> Tree:
    """The sites named as ``VERSION=FOLDER``, the newest first; a candidate is older than its
    release. PageError where one has no pages.
    """
    sites = [
        Site(version, Path(folder)) for version, _, folder in (w.partition("=") for w in words)
    ]
    for site in sites:
        if "index.html" not in site.pages:
            step = f"make site TORCH={site.version}"
            raise PageError(str(site.folder), "is no built site: it has no index.html", step)
    sites.sort(key=lambda site: _age(site.version), reverse=True)
    return Tree(sites, f"{url.rstrip('/')}/" if url else "")


def _age(version: str) -> tuple[object, ...]:
    public = Version.of(version).public
    numbers = tuple(map(int, re.findall(r"\d+", re.split(r"[a-z]", public)[0])))
    return numbers, not re.search(r"[a-z]", public), version


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tree that the command line names; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tclab.page.hosted", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("sites", nargs="+", metavar="VERSION=FOLDER")
    parser.add_argument("--url", default="", help="where the tree will be")
    options = parser.parse_args(arguments)
    try:
        tree(options.sites, options.url).write(options.out)
    except TclabError as error:
        print(error, file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in options.out.rglob("*") if path.is_file())
    print(f"{options.out}: {len(options.sites)} versions, {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
