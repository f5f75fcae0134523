"""Render artifacts. There is a module for each kind, with the functions `html` and `text`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tclab.errors import TclabError

if TYPE_CHECKING:
    from types import ModuleType

    from tclab.model import Artifact
    from tclab.render.escape import Html
    from tclab.render.options import Options

#: Kind → the name of its module, which is imported when an artifact of this kind is drawn.
RENDERERS: dict[str, str] = {
    "annotated": "annotated",
    "breaks": "breaks",
    "candidates": "candidates",
    "chain": "chain",
    "chart": "chart",
    "diff": "diff",
    "fusion-pairs": "fusion",
    "graph": "graph",
    "guards": "guards",
    "kernel": "kernel",
    "levels": "levels",
    "listing": "listing",
    "memory": "memory",
    "partition": "partition",
    "recompiles": "recompiles",
    "replay": "replay",
    "report": "report",
    "steps": "steps",
    "symbols": "symbols",
    "table": "table",
    "text": "plain",
}


def renderer(kind: str) -> ModuleType:
    """Return the module that draws artifacts of a kind."""
    return importlib.import_module(f"{__name__}.{RENDERERS[kind]}")


def _renderer(artifact: Artifact) -> ModuleType:
    kind = getattr(artifact, "kind", type(artifact).__name__)
    if kind not in RENDERERS:
        cause = f"no renderer for {kind}"
        raise TclabError(
            "tclab.render", cause, "add a module to render/kinds/ and name it in its __init__.py"
        )
    return renderer(kind)


def html(artifact: Artifact, options: Options) -> Html:
    """Return the artifact's body as HTML, without title and stamp."""
    html: Html = _renderer(artifact).html(artifact, options)
    return html


def text(artifact: Artifact) -> str:
    """Return the artifact as text of at most 100 columns, except for lines of code, which are not
    wrapped.
    """
    text: str = _renderer(artifact).text(artifact)
    return text
