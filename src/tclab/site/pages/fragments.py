"""Keep rendered pieces of HTML on disk between builds.

A piece is named by a digest of everything it depends on: the run it shows, the options, and the
version of the renderer. So no piece can be outdated. After a build, the pieces of other versions of
the renderer are removed. The first line of a file is a digest of the rest, so that a damaged piece
is noticed and rendered again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import astuple
from pathlib import Path

from tclab import render
from tclab.model import Artifact, Run, Snippet, encode, source_lines
from tclab.render.delivery.files import Files
from tclab.render.escape import Html
from tclab.site.pages import state
from tclab.site.pages.rendering import Page


def figure(
    page: Page,
    run: Run,
    artifact: Artifact,
    prefix: str,
    fold: bool | None,
    view: str | None,
    titled: bool,
    searched: bool = True,
) -> Html:
    """Render one artifact of `run` without its stamp; source lines link to the page's listings.

    Add to the page the files that a browser loads later and, if `searched`, the search keywords.
    """

    def make() -> str:
        beside = Files(page.url)
        options = render.Options(
            prefix, view, fold, page.anchors, root=page.link(""), delivery=beside
        )
        html = render.figure(artifact, run, options, titled=titled, stamped=False)
        return json.dumps([html, beside.files])

    options = [page.url, prefix, sorted(page.anchors.items()), fold, view, titled]
    html, files = json.loads(
        cached(make, "figure", encode(artifact), run.provenance.torch_git, options)
    )
    page.files |= files
    page.keywords += keywords(artifact, prefix) if searched else []
    return Html(html)


def keywords(artifact: Artifact, prefix: str) -> list[render.Keyword]:
    """Return the words of an artifact's code by which the site's search finds the artifact."""

    def make() -> str:
        words = render.keywords(artifact, render.Options(prefix))
        return json.dumps([astuple(word) for word in words])

    words = cached(make, "words", encode(artifact), prefix)
    return [render.Keyword(*word) for word in json.loads(words)]


def source(
    snippet: Snippet,
    lines: tuple[int, int],
    prefix: str,
    fold: bool | None,
    focus: Sequence[tuple[int, int]] = (),
) -> Html:
    """Render lines (first, last) of a snippet's file; lines outside `focus` are folded."""

    def make() -> Html:
        options = render.Options(prefix, fold=fold)
        return render.source(snippet, options, lines=lines, focus=focus)

    return cached_html(make, "source", snippet.name, snippet.source, lines, prefix, fold, focus)


def code_start(snippet: Snippet) -> int:
    """Return the number of the first line after the docstring and the header."""
    lines = source_lines(snippet.source)
    number = snippet.code_start - 1
    while number < len(lines) - 1 and (
        not lines[number].strip() or lines[number].startswith("# tclab:")
    ):
        number += 1
    return number + 1


# --------------------------------------------------------------------------- memory on disk


def fragments_folder() -> Path:
    """Return the folder with the pieces of this version of the renderer."""
    return state.build().book.store_path / "rendered" / render.version()[:16]


def remove_outdated() -> None:
    """Remove the pieces that other versions of the renderer made."""
    used = fragments_folder()
    others = [p for p in used.parent.glob("*") if p != used] if used.exists() else []
    for other in others:
        shutil.rmtree(other, ignore_errors=True)


def cached(make: Callable[[], str], *key: object) -> str:
    """Return the result of `make`, from disk if an earlier build stored it under the same `key`."""
    path = fragments_folder() / f"{_digest(key)}.html"
    if (stored := _read(path)) is not None:
        return stored
    html = make()
    _write(path, html)
    return html


def cached_html(make: Callable[[], Html], *key: object) -> Html:
    """Return the Html that `make` returns, from disk as in `cached`."""
    return Html(cached(make, *key))


def _read(path: Path) -> str | None:
    """Return the text that `_write` stored; None if it is missing or damaged."""
    try:
        first, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    whole = first == hashlib.sha256(content).hexdigest().encode()
    return content.decode() if whole else None


def _write(path: Path, text: str) -> None:
    """Write a file whose first line is the digest of the text that follows, atomically. Do nothing
    if the store cannot be written.
    """
    content = text.encode()
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def _digest(data: object) -> str:
    text = json.dumps(data, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
