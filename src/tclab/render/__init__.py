"""From artifact or run to HTML and to text: pure, without torch, clock or chance.

Text needs the standard library only. HTML uses Pygments, igraph (drawn graphs) and
Matplotlib (charts), each imported when it is first needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from tclab.render import kinds, opcodes
from tclab.render import run as _run
from tclab.render import stamp as _stamp
from tclab.render.escape import clean, esc, identifier
from tclab.render.opcodes import Keyword
from tclab.render.options import FOLD_LINES, Options

if TYPE_CHECKING:
    from tclab.model import Artifact, Run, Snippet

__all__ = [
    "FOLD_LINES",
    "Keyword",
    "Options",
    "clean",
    "css",
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
CSS_FILES = (_ASSETS / "tclab.css", _ASSETS / "chain.css")
JS_FILES = (_ASSETS / "tclab.js", _ASSETS / "chain.js")

Sources = Mapping[str, str]


def html(
    artifact: Artifact,
    *,
    prefix: str = "",
    view: str | None = None,
    fold: bool | None = None,
    sources: Sources | None = None,
    torch_git: str = "",
    light: bool = False,
) -> str:
    """The artifact as HTML, without title and stamp.

    `prefix` (default: the artifact's name) begins every id: unique in a page. `view`
    picks a graph's ``picture``, ``table`` or ``text``. `fold`: None folds what is long.
    `sources` maps files to the prefix that `source` showed them under on this page.
    `light` leaves a chain's machine code without markup, as a long chain's always is.
    """
    chosen = identifier(prefix or artifact.name)
    return kinds.html(artifact, Options(chosen, view, fold, sources or {}, torch_git, light))


def figure(
    artifact: Artifact,
    run: Run | None = None,
    *,
    prefix: str = "",
    view: str | None = None,
    fold: bool | None = None,
    sources: Sources | None = None,
    titled: bool = True,
    stamped: bool = True,
) -> str:
    """The artifact with its title above and, where `run` made it, its stamp beneath.

    `titled` and `stamped` False leave them to whoever shows several of a run together.
    """
    options = Options(identifier(prefix or artifact.name), view, fold, sources or {})
    return _run.figure(artifact, run, options, titled=titled, stamped=stamped)


def run(
    run: Run,
    *,
    prefix: str = "",
    view: str | None = None,
    fold: bool | None = None,
    sources: Sources | None = None,
) -> str:
    """Every artifact of a run, each a figure, and the stamp of them all."""
    return _run.html(run, Options(identifier(prefix), view, fold, sources or {}))


def source(
    snippet: Snippet,
    *,
    prefix: str = "",
    lines: tuple[int, int] | None = None,
    fold: bool | None = None,
    focus: Sequence[tuple[int, int]] = (),
) -> str:
    """The snippet's code, line n under the anchor ``{prefix}-L{n}``; `lines` are inclusive.

    Where there is a `focus` (ranges of lines, in order), the lines outside of it are folded.
    """
    return _run.source(snippet, Options(identifier(prefix), None, fold), lines, focus)


def keywords(artifact: Artifact, *, prefix: str = "") -> list[Keyword]:
    """What a search finds of the artifact's code: operations and kernels, each with a line."""
    return opcodes.of(artifact, Options(identifier(prefix or artifact.name)))


def output(run: Run, *, prefix: str = "", fold: bool | None = None) -> str:
    """What the run printed, and the error it was declared to end with."""
    return _run.output(run, Options(identifier(prefix), None, fold))


def stamp(run: Run) -> str:
    """One line of HTML: PyTorch, Triton, device, day, seconds, live or recorded."""
    return _stamp.html(run)


def text(artifact: Artifact) -> str:
    """The artifact for a terminal, in 100 columns; code keeps its own lines."""
    return kinds.text(artifact)


def run_text(run: Run) -> str:
    """A run for a terminal."""
    return _run.text(run)


def stamp_text(run: Run) -> str:
    """The stamp for a terminal."""
    return _stamp.text(run)


def css() -> str:
    """The style sheets, one after the other: they fit Material, and stand alone."""
    return "\n".join(path.read_text(encoding="utf-8") for path in CSS_FILES)


def js() -> str:
    """The scripts, one after the other: comfort only, nothing needs them."""
    return "\n".join(path.read_text(encoding="utf-8") for path in JS_FILES)


@lru_cache(maxsize=1)
def version() -> str:
    """A digest of all that decides the HTML: this package, and what it draws with."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for package in ("pygments", "igraph", "matplotlib"):
        digest.update(f"{package} {_installed(package)}\n".encode())
    return digest.hexdigest()[:16]


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
