"""Render artifacts. There is a module for each kind, with the functions `html` and `text`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.errors import TclabError
from tclab.render.kinds import (
    annotated,
    breaks,
    candidates,
    chain,
    chart,
    diff,
    fusion,
    graph,
    guards,
    kernel,
    levels,
    listing,
    memory,
    partition,
    plain,
    recompiles,
    replay,
    report,
    steps,
    symbols,
    table,
)

if TYPE_CHECKING:
    from types import ModuleType

    from tclab.model import Artifact
    from tclab.render.escape import Html
    from tclab.render.options import Options

RENDERERS: dict[str, ModuleType] = {
    "annotated": annotated,
    "breaks": breaks,
    "candidates": candidates,
    "chain": chain,
    "chart": chart,
    "diff": diff,
    "fusion-pairs": fusion,
    "graph": graph,
    "guards": guards,
    "kernel": kernel,
    "levels": levels,
    "listing": listing,
    "memory": memory,
    "partition": partition,
    "recompiles": recompiles,
    "replay": replay,
    "report": report,
    "steps": steps,
    "symbols": symbols,
    "table": table,
    "text": plain,
}


def _renderer(artifact: Artifact) -> ModuleType:
    kind = getattr(artifact, "kind", type(artifact).__name__)
    if kind not in RENDERERS:
        cause = f"no renderer for {kind}"
        raise TclabError(
            "tclab.render", cause, "add a module to render/kinds/ and name it in its __init__.py"
        )
    return RENDERERS[kind]


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
