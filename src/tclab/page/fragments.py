"""Rendered pieces of HTML, kept on disk between builds.

A piece is named by a digest of everything it depends on: the run it shows, the
options, and the version of the renderer. So nothing is ever invalidated; what older
versions of the renderer made is swept away after a build. Its first line is a digest of the rest:
a piece that was damaged is made again.
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
from tclab.page import state
from tclab.page.blocks import Page
from tclab.render.delivery.files import Files
from tclab.render.escape import Html


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
    """One artifact of `run` without its stamp; its source lines link into the page's listings.

    The page gets the words that a search finds of it, if it is `searched`, and the files of what a
    browser asks for later.
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
    """What the site's search finds of an artifact's code."""

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
    """Lines (first, last) of a snippet's file as HTML; those outside of `focus` are folded."""

    def make() -> Html:
        options = render.Options(prefix, fold=fold)
        return render.source(snippet, options, lines=lines, focus=focus)

    return cached_html(make, "source", snippet.name, snippet.source, lines, prefix, fold, focus)


def code_start(snippet: Snippet) -> int:
    """The first line after the docstring and the header: what a page shows."""
    lines = source_lines(snippet.source)
    number = snippet.code_start - 1
    while number < len(lines) - 1 and (
        not lines[number].strip() or lines[number].startswith("# tclab:")
    ):
        number += 1
    return number + 1


# --------------------------------------------------------------------------- memory on disk


def folder() -> Path:
    """Where the pieces of this version of the renderer are kept."""
    return state.build().book.store_path / "rendered" / render.version()[:16]


def sweep() -> None:
    """Remove the pieces that other versions of the renderer made."""
    used = folder()
    others = [p for p in used.parent.glob("*") if p != used] if used.exists() else []
    for other in others:
        shutil.rmtree(other, ignore_errors=True)


def cached(make: Callable[[], str], *key: object) -> str:
    """What `make` returns, from disk where an earlier build made it from the same `key`."""
    path = folder() / f"{_digest(key)}.html"
    if (kept := _read(path)) is not None:
        return kept
    html = make()
    _write(path, html)
    return html


def cached_html(make: Callable[[], Html], *key: object) -> Html:
    """The HTML that `make` returns, or returned in an earlier build."""
    return Html(cached(make, *key))


def _read(path: Path) -> str | None:
    """What `_write` kept; None where there is none, or a power cut or a bad disk damaged it."""
    try:
        first, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    whole = first == hashlib.sha256(content).hexdigest().encode()
    return content.decode() if whole else None


def _write(path: Path, text: str) -> None:
    """Write atomically, below a digest; a store that cannot be written costs time only."""
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
