"""Render artifacts and runs as HTML and as text. The functions are pure: they use no torch, clock
or random numbers.

Text needs the standard library only. HTML uses Pygments, igraph (drawn graphs) and
Matplotlib (charts), each imported when it is first needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
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
    "dark_css",
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

_ASSETS = files(__name__) / "assets"

#: Scripts and style sheets that a page with outputs needs: each name → the files that it consists
#: of, in order.
_PAGE_PARTS = (
    *("ready", "choices", "target", "copy", "wide", "sort", "entries", "words", "names", "heights"),
)
_CHAIN_PARTS = (
    *("index", "code", "help", "memory", "away", "pane", "ruler", "find", "column", "selection"),
    *("keyboard", "links", "stages", "widths", "hues", "chain", "start"),
)
STYLES = {
    "tclab.css": ("tclab.css", "report.css", "entries.css", "decisions.css"),
    "chain.css": ("chain.css", "diff.css"),
}
#: The dark colours apply only to screens, because paper is light. A page outside of the site's
#: theme, where no reader chooses a scheme, has that of the reader's system.
_DARK = """@media screen {{
  [data-md-color-scheme="slate"] {0}
}}
@media screen and (prefers-color-scheme: dark) {{
  .tclab-alone {0}
}}
"""
SCRIPTS = {
    "tclab.js": tuple(f"page/{part}.js" for part in _PAGE_PARTS),
    "chain.js": ("page/ready.js", *(f"chain/{part}.js" for part in _CHAIN_PARTS)),
}


def html(artifact: Artifact, options: Options | None = None) -> Html:
    """Return the artifact as HTML, without title and stamp."""
    return kinds.html(artifact, _add_prefix(options, artifact))


def figure(
    artifact: Artifact,
    run: Run | None = None,
    options: Options | None = None,
    *,
    titled: bool = True,
    stamped: bool = True,
) -> Html:
    """Return the artifact as HTML with its title above and the stamp of `run` below.

    A caller that shows several artifacts of one run leaves out title or stamp with `titled` or
    `stamped` False.
    """
    return _run.figure(
        artifact, run, _add_prefix(options, artifact), titled=titled, stamped=stamped
    )


def _add_prefix(options: Options | None, artifact: Artifact) -> Options:
    """Return the options with a prefix that is valid in ids: by default the artifact's name."""
    options = options or Options()
    return replace(options, prefix=identifier(options.prefix or artifact.name))


def run(run: Run, options: Options | None = None) -> Html:
    """Return every artifact of a run as a figure, then one stamp for all."""
    return _run.html(run, options or Options())


def source(
    snippet: Snippet,
    options: Options | None = None,
    *,
    lines: tuple[int, int] | None = None,
    focus: Sequence[tuple[int, int]] = (),
) -> Html:
    """Return the snippet's code with an anchor ``{prefix}-L{n}`` for line n; `lines` are the first
    and last line to show.

    With a `focus` (ranges of lines, in order), the lines outside of it are folded.
    """
    return _run.source(snippet, options or Options(), lines, focus)


def keywords(artifact: Artifact, options: Options | None = None) -> list[Keyword]:
    """Return keywords for the site's search: the operations and kernels in the artifact's code,
    each with a line.
    """
    return opcodes.keywords(artifact, _add_prefix(options, artifact))


def output(run: Run, options: Options | None = None) -> Html:
    """Return what the run printed, and the error that it was declared to raise."""
    return _run.output(run, options or Options())


def stamp(run: Run, *equal_runs: Run) -> Html:
    """Return one line of HTML with PyTorch, Triton, device, day, seconds, and whether the run is
    live or recorded. The line also names the `equal_runs`, which showed the same artifact.
    """
    return _stamp.html(run, equal_runs)


def text(artifact: Artifact) -> str:
    """Return the artifact as text for a terminal, in 100 columns. Lines of code are not wrapped."""
    return kinds.text(artifact)


def run_text(run: Run) -> str:
    """Return a run as text for a terminal."""
    return _run.text(run)


def stamp_text(run: Run, *equal_runs: Run) -> str:
    """Return the stamp as text for a terminal."""
    return _stamp.text(run, equal_runs)


def css() -> str:
    """Return all style sheets as one text. They work with Material and without it."""
    return "\n".join(map(asset, STYLES))


def js() -> str:
    """Return all scripts as one text. Pages can be read without them."""
    return "\n".join(map(asset, SCRIPTS))


def dark_css(selector: str) -> str:
    """Return CSS rules that set the dark colours of each style sheet for `selector`."""
    return "\n".join(f"{selector} {_dark_declarations(name)}" for name in STYLES)


def _dark_declarations(name: str) -> str:
    """Return the declarations of a style sheet's dark colours, in braces."""
    declarations = _ASSETS / name.replace(".css", ".dark.css")
    return f"{{\n{declarations.read_text(encoding='utf-8')}  }}"


@lru_cache(maxsize=8)
def asset(name: str) -> str:
    """Return the text of a style sheet or a script, by its name in `STYLES` or `SCRIPTS`. The parts
    of a script share the scope of one function and define no globals.
    """
    parts = (STYLES | SCRIPTS)[name]
    texts = [(_ASSETS / part).read_text(encoding="utf-8") for part in parts]
    if name in STYLES:
        return "\n".join([*texts, _DARK.format(_dark_declarations(name))])
    return '(function () {\n"use strict";\n\n' + "\n".join(texts) + "})();\n"


@lru_cache(maxsize=1)
def version() -> str:
    """Return a digest of everything that determines the HTML: this package and the versions of the
    libraries that it draws with.
    """
    digest = hashlib.sha256()
    for path in sorted(_source_files()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for package in ("pygments", "igraph", "matplotlib"):
        digest.update(f"{package} {_installed_version(package)}\n".encode())
    return digest.hexdigest()[:16]


def _source_files() -> list[Path]:
    folder = Path(__file__).parent
    return [*folder.rglob("*.py"), *folder.rglob("*.json")]


def _installed_version(package: str) -> str:
    from importlib import metadata  # it is slow to import, and few pages need it

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
