"""Which module renders which kind of artifact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.errors import TclabError
from tclab.render.decisions import fusion, levels, memory, partition, replay, steps
from tclab.render.kinds import (
    annotated,
    breaks,
    candidates,
    chain,
    chart,
    diff,
    graph,
    guards,
    kernel,
    listing,
    plain,
    recompiles,
    report,
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
        raise TclabError("tclab.render", cause, "add a module to render/ and name it in kinds.py")
    return RENDERERS[kind]


def html(artifact: Artifact, options: Options) -> Html:
    """The artifact's body as HTML."""
    shown: Html = _renderer(artifact).html(artifact, options)
    return shown


def text(artifact: Artifact) -> str:
    """The artifact as text of at most 100 columns, but for code, which keeps its lines."""
    shown: str = _renderer(artifact).text(artifact)
    return shown
