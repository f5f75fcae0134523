"""Combine the sites of several PyTorch versions into one tree with a folder for each version.

Each page gets links to the same page of the other versions. The links are written into the HTML, so
they need neither scripts nor a server.

    python -m tclab.site.pages.version_tree OUT 2.13.0=site 2.15.0=site-torch2.15.0 [--url https://host/path/]

The same sites produce the same tree, byte for byte.
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
from tclab.render.escape import Html, esc, markup, tag
from tclab.site.pages.site.compact import compact

#: Files that pages name only in attributes, so that a version can use another version's copy.
_SHARED_FILE = re.compile(r"(downloads|assets)/(?!javascripts/workers/).*")
#: Files that are left out: languages that the search does not use, and files only for debuggers.
_OMITTED_FILE = re.compile(r"assets/javascripts/lunr/.*|.*\.map|404\.html|sitemap\.xml(\.gz)?")

_LINE = re.compile(r'#([\w.-]+-L\d+)"')
_TITLE = re.compile(
    r'(<div class="md-header__topic">\s*<span class="md-ellipsis">.*?</span>)', re.DOTALL
)
_ANNOUNCE = re.compile(r'(<div data-md-component="announce">)\s*(</div>)')
_CANONICAL = re.compile(r'\s*<link rel="canonical" href="[^"]*">')
#: A link that contains a table's data, with the suffix of the file name.
_DATA_LINK = re.compile(r'href="data:[^",]+,([^"]*)"(?= download="[^"]+(\.\w+)")')
_FILE_ATTRIBUTE = re.compile(r'\b(href|(?:data-)?src)="([^"#:?]+)')


@dataclass(frozen=True)
class Site:
    """The built site of one PyTorch."""

    version: str
    folder: Path

    @cached_property
    def files(self) -> list[str]:
        """Paths within the site, without the files that no reader needs."""
        paths = (path for path in self.folder.rglob("*") if path.is_file())
        names = sorted(path.relative_to(self.folder).as_posix() for path in paths)
        return [name for name in names if not _OMITTED_FILE.fullmatch(name)]

    @cached_property
    def pages(self) -> set[str]:
        """The paths of its pages."""
        return {name for name in self.files if name.endswith(".html")}

    @cached_property
    def lines(self) -> frozenset[str]:
        """The ids of the code lines that its pages link to."""
        texts = ((self.folder / name).read_text(encoding="utf-8") for name in self.pages)
        return frozenset(itertools.chain.from_iterable(map(_LINE.findall, texts)))

    @cached_property
    def home(self) -> str:
        """The HTML of the first page."""
        return (self.folder / "index.html").read_text(encoding="utf-8")

    def nearest_page(self, page: str) -> str:
        """Return the same page of this site, or else the first page of its chapter on the home
        page, or else the home page.
        """
        if page in self.pages:
            return page
        folder = PurePosixPath(page).parent.as_posix()
        chapter = re.search(rf'href="({re.escape(folder)}/[^"#]+\.html)[#"]', self.home)
        return chapter[1] if chapter and chapter[1] in self.pages else "index.html"


@dataclass(frozen=True)
class Tree:
    """All sites, the newest first, and the address of the tree ('' if it has none)."""

    sites: Sequence[Site]
    url: str = ""

    @property
    def newest(self) -> Site:
        return self.sites[0]

    def write(self, out: Path) -> None:
        """Write the tree into `out`, replacing an older one."""
        new = out.with_name(f"{out.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        for site in self.sites:
            self._write_site(site, new / site.version)
        for name, text in self._root_files():
            _write(new / name, text)
        shutil.rmtree(out, ignore_errors=True)
        new.rename(out)

    def _write_site(self, site: Site, folder: Path) -> None:
        for name in site.files:
            if name in site.pages:
                text = (site.folder / name).read_text(encoding="utf-8")
                move_data = functools.partial(
                    _move_data_to_file, page=folder / name, tree=folder.parent
                )
                page = self._page_html(_DATA_LINK.sub(move_data, text), site, name)
                _write(folder / name, compact(page, site.lines))
            elif f"{site.version}/{name}" not in self._duplicates:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(site.folder / name, folder / name)
        if self.url:
            _write(folder / "sitemap.xml", self._make_sitemap(site))

    @cached_property
    def _duplicates(self) -> dict[str, str]:
        """Map the path of each duplicate in the tree to the first file with the same bytes.

        Only files with the same base name count as duplicates.
        """
        first, duplicates = dict[tuple[str, bytes], str](), dict[str, str]()
        for site in self.sites:
            for name in filter(_SHARED_FILE.fullmatch, site.files):
                content = hashlib.sha256((site.folder / name).read_bytes()).digest()
                path = f"{site.version}/{name}"
                original = first.setdefault((posixpath.basename(name), content), path)
                if original != path:
                    duplicates[path] = original
        return duplicates

    # ------------------------------------------------------------------------ a page

    def _page_html(self, text: str, site: Site, name: str) -> str:
        text = _FILE_ATTRIBUTE.sub(
            lambda link: self._redirect_link(link, f"{site.version}/{name}"), text
        )
        text = _CANONICAL.sub("", text)
        if self.url:
            home = self.newest if name in self.newest.pages else site
            address = esc(f"{self.url}{home.version}/{name}")
            link = markup('<link rel="canonical" href="{}">', address)
            text = text.replace("</title>", f"</title>\n{link}", 1)
        text = _TITLE.sub(
            lambda title: f"{title[1]}{self._version_menu(site, name)}", text, count=1
        )
        if site is self.newest:
            return text
        return _ANNOUNCE.sub(
            lambda place: f"{place[1]}{self._old_version_note(site, name)}{place[2]}", text
        )

    def _redirect_link(self, link: re.Match[str], page: str) -> str:
        """Return the link on `page`, redirected if its target is a duplicate. Paths are relative to
        the tree's root.
        """
        folder = posixpath.dirname(page)
        original = self._duplicates.get(posixpath.normpath(posixpath.join(folder, link[2])))
        return f'{link[1]}="{posixpath.relpath(original, folder)}' if original else link[0]

    def _version_menu(self, current: Site, name: str) -> Html:
        """Return the version menu that Material's script would build from versions.json, as
        HTML.
        """
        links = (
            tag("a", esc(site.version), href=_address_in(site, name), class_="md-version__link")
            for site in self.sites
        )
        items = (tag("li", link, class_="md-version__item") for link in links)
        shown = tag("button", esc(current.version), class_="md-version__current", type="button",
                    aria_label="Select the version of PyTorch")  # fmt: skip
        return tag("div", shown, tag("ul", *items, class_="md-version__list"), class_="md-version")

    def _old_version_note(self, old: Site, name: str) -> Html:
        newest = self.newest
        what = "The same page" if name in newest.pages else "Its chapter"
        link = tag(
            "a", esc(f"{what} with PyTorch {newest.version}"), href=_address_in(newest, name)
        )
        text = markup("This page was made with PyTorch {}. {}.", esc(old.version), link)
        inner = tag("div", text, class_="md-banner__inner md-grid md-typeset")
        return tag("aside", inner, class_="md-banner md-banner--warning")

    # ------------------------------------------------------------------------ files at the root

    def _root_files(self) -> Iterator[tuple[str, str]]:
        """Yield (path, text) for each file outside the version folders."""
        yield "versions.json", self._versions_json()
        yield "index.html", self._make_redirect("index.html", f"{self.newest.version}/index.html")
        for name in sorted(self.newest.pages):
            up = "../" * (name.count("/") + 1)
            yield f"latest/{name}", self._make_redirect(name, f"{up}{self.newest.version}/{name}")
        yield ".nojekyll", ""  # without it, GitHub Pages leaves out names that begin with _
        if self.url:
            yield "sitemap.xml", self._sitemap_index()
            yield "404.html", self._not_found()

    def _versions_json(self) -> str:
        """Return the text of versions.json, in the format that mike and Material's menu use."""
        versions = [
            {"version": site.version, "title": f"PyTorch {site.version}", "aliases": []}
            | ({"aliases": ["latest"]} if site is self.newest else {})
            for site in self.sites
        ]
        return json.dumps(versions, indent=2) + "\n"

    def _make_redirect(self, name: str, target: str) -> str:
        address = f"{self.url}{self.newest.version}/{name}" if self.url else target
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
            f"<title>To {target}</title>\n"
            f'<link rel="canonical" href="{address}">\n'
            f'<script>location.replace("{target}" + location.search + location.hash)</script>\n'
            f'<meta http-equiv="refresh" content="0; url={target}"></head>\n'
            f'<body><a href="{target}">This page has moved.</a></body></html>\n'
        )

    def _make_sitemap(self, site: Site) -> str:
        address = f"{self.url}{site.version}/"
        lines = (f"<url><loc>{esc(address + name)}</loc></url>" for name in sorted(site.pages))
        return _make_sitemap_xml("urlset", lines)

    def _sitemap_index(self) -> str:
        addresses = (f"{self.url}{site.version}/sitemap.xml" for site in self.sites)
        return _make_sitemap_xml(
            "sitemapindex", (f"<sitemap><loc>{esc(a)}</loc></sitemap>" for a in addresses)
        )

    def _not_found(self) -> str:
        """Return the newest version's 404 page with absolute links, because hosts show it at any
        depth.
        """
        text = (self.newest.folder / "404.html").read_text(encoding="utf-8")
        base = f"{urlsplit(self.url).path}{self.newest.version}/"
        text = re.sub(rf'\b(href|src)="(?:{re.escape(base)}|/)', rf'\1="{base}', text)
        return re.sub(r'"base": "[^"]*"', f'"base": "{base}"', text)


def _address_in(site: Site, page: str) -> str:
    """Return the address, relative to `page`, of the nearest page in the version `site`."""
    return f"{'../' * (page.count('/') + 1)}{site.version}/{site.nearest_page(page)}"


def _move_data_to_file(link: re.Match[str], page: Path, tree: Path) -> str:
    """Move the data inside a link to a file that all versions share; return the new link."""
    text = unquote(html.unescape(link[1]))
    file = tree / "data" / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}{link[2]}"
    _write(file, text)
    return f'href="{posixpath.relpath(file, page.parent)}"'


def _make_sitemap_xml(root: str, lines: Iterator[str]) -> str:
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    body = "".join(f"  {line}\n" for line in lines)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{space}">\n{body}</{root}>\n'


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


# ---------------------------------------------------------------------------- the command


def make_tree(words: Sequence[str], url: str = "") -> Tree:
    """Return the tree of the sites given as ``VERSION=FOLDER``, sorted from the newest version on.

    A release candidate is older than its release. Raises PageError if a folder has no built site.
    """
    sites = [
        Site(version, Path(folder))
        for version, _, folder in (word.partition("=") for word in words)
    ]
    for site in sites:
        if "index.html" not in site.pages:
            step = f"make site TORCH={site.version}"
            raise PageError(str(site.folder), "is no built site: it has no index.html", step)
    sites.sort(key=lambda site: _age_key(site.version), reverse=True)
    return Tree(sites, f"{url.rstrip('/')}/" if url else "")


def _age_key(version: str) -> tuple[object, ...]:
    public = Version.parse(version).public
    numbers = tuple(map(int, re.findall(r"\d+", re.split(r"[a-z]", public)[0])))
    return numbers, not re.search(r"[a-z]", public), version


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tree that the command line describes; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tclab.site.pages.version_tree", description=__doc__
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("sites", nargs="+", metavar="VERSION=FOLDER")
    parser.add_argument("--url", default="", help="where the tree will be")
    options = parser.parse_args(arguments)
    try:
        make_tree(options.sites, options.url).write(options.out)
    except TclabError as error:
        print(error, file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in options.out.rglob("*") if path.is_file())
    print(f"{options.out}: {len(options.sites)} versions, {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
