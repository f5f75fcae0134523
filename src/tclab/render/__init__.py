"""From artifact or run to HTML and to text: pure, without torch, clock or chance.

Text needs the standard library only. HTML uses Pygments, igraph (drawn graphs) and
Matplotlib (charts), each imported when it is first needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from tclab.render import kinds, opcodes
from tclab.render import run as _run
from tclab.render import stamp as _stamp
from tclab.render.escape import Html, clean, esc, identifier
from tclab.render.opcodes import Keyword
from tclab.render.options import FOLD_LINES, Options

if TYPE_CHECKING:
    from tclab.model import Artifact, Run, Snippet

__all__ = [
    "FOLD_LINES",
    "SCRIPTS",
    "STYLES",
    "Html",
    "Keyword",
    "Options",
    "asset",
    "clean",
    "css",
    "dark",
    "esc",
    "figure",
    "html",
    "identifier",
    "js",
    "keywords",
    "output",
    "run",
    "run_text",
    "source",
    "stamp",
    "stamp_text",
    "text",
    "version",
]

_ASSETS = Path(__file__).parent / "assets"

#: What the outputs of a page need, each made of the files named.
_PAGE = ("ready", "choices", "target", "copy", "wide", "sort", "entries", "words", "names")
_CHAIN = (
    *("index", "code", "help", "memory", "away", "pane", "ruler", "find", "column", "selection"),
    *("keyboard", "links", "stages", "widths", "hues", "chain", "start"),
)
STYLES = {
    "tclab.css": ("tclab.css", "report.css", "entries.css", "decisions.css"),
    "chain.css": ("chain.css", "diff.css"),
}
#: Paper is light whatever the screen is.
_DARK = '@media screen {{\n  [data-md-color-scheme="slate"] {}\n}}\n'
SCRIPTS = {
    "tclab.js": tuple(f"page/{part}.js" for part in _PAGE),
    "chain.js": ("page/ready.js", *(f"chain/{part}.js" for part in _CHAIN)),
}


def html(artifact: Artifact, options: Options | None = None) -> Html:
    """The artifact as HTML, without title and stamp."""
    return kinds.html(artifact, _named(options, artifact))


def figure(
    artifact: Artifact,
    run: Run | None = None,
    options: Options | None = None,
    *,
    titled: bool = True,
    stamped: bool = True,
) -> Html:
    """The artifact with its title above and, where `run` made it, its stamp beneath.

    `titled` and `stamped` False leave them to whoever shows several of a run together.
    """
    return _run.figure(artifact, run, _named(options, artifact), titled=titled, stamped=stamped)


def _named(options: Options | None, artifact: Artifact) -> Options:
    """The options, with a prefix that can begin an id: by default the artifact's name."""
    options = options or Options()
    return replace(options, prefix=identifier(options.prefix or artifact.name))


def run(run: Run, options: Options | None = None) -> Html:
    """Every artifact of a run, each a figure, and the stamp of them all."""
    return _run.html(run, options or Options())


def source(
    snippet: Snippet,
    options: Options | None = None,
    *,
    lines: tuple[int, int] | None = None,
    focus: Sequence[tuple[int, int]] = (),
) -> Html:
    """The snippet's code, line n under the anchor ``{prefix}-L{n}``; `lines` are inclusive.

    Where there is a `focus` (ranges of lines, in order), the lines outside of it are folded.
    """
    return _run.source(snippet, options or Options(), lines, focus)


def keywords(artifact: Artifact, options: Options | None = None) -> list[Keyword]:
    """What a search finds of the artifact's code: operations and kernels, each with a line."""
    return opcodes.of(artifact, _named(options, artifact))


def output(run: Run, options: Options | None = None) -> Html:
    """What the run printed, and the error it was declared to end with."""
    return _run.output(run, options or Options())


def stamp(run: Run, *same: Run) -> Html:
    """One line of HTML: PyTorch, Triton, device, day, seconds, live or recorded; then which other
    runs showed the `same`.
    """
    return _stamp.html(run, same)


def text(artifact: Artifact) -> str:
    """The artifact for a terminal, in 100 columns; code keeps its own lines."""
    return kinds.text(artifact)


def run_text(run: Run) -> str:
    """A run for a terminal."""
    return _run.text(run)


def stamp_text(run: Run, *same: Run) -> str:
    """The stamp for a terminal."""
    return _stamp.text(run, same)


def css() -> str:
    """The style sheets, one after the other: they fit Material, and stand alone."""
    return "\n".join(map(asset, STYLES))


def js() -> str:
    """The scripts, one after the other: comfort only, nothing needs them."""
    return "\n".join(map(asset, SCRIPTS))


def dark(selector: str) -> str:
    """The dark colours of all style sheets, for what `selector` selects."""
    return "\n".join(f"{selector} {_dark(name)}" for name in STYLES)


def _dark(name: str) -> str:
    """The declarations that a style sheet has in the dark, in braces."""
    declarations = _ASSETS / name.replace(".css", ".dark.css")
    return f"{{\n{declarations.read_text(encoding='utf-8')}  }}"


@lru_cache(maxsize=8)
def asset(name: str) -> str:
    """A style sheet or a script by its name in `STYLES` or `SCRIPTS`. The sections of a script
    share one function's scope, and leave nothing in the page's.
    """
    files = (STYLES | SCRIPTS)[name]
    texts = [(_ASSETS / file).read_text(encoding="utf-8") for file in files]
    if name in STYLES:
        return "\n".join([*texts, _DARK.format(_dark(name))])
    return '(function () {\n"use strict";\n\n' + "\n".join(texts) + "})();\n"


@lru_cache(maxsize=1)
def version() -> str:
    """A digest of all that decides the HTML: this package, and what it draws with."""
    digest = hashlib.sha256()
    for path in sorted(_sources()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for package in ("pygments", "igraph", "matplotlib"):
        digest.update(f"{package} {_installed(package)}\n".encode())
    return digest.hexdigest()[:16]


def _sources() -> list[Path]:
    folder = Path(__file__).parent
    return [*folder.rglob("*.py"), *folder.rglob("*.json")]


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
