"""The nouns of tclab as frozen dataclasses: Snippet, Run, Artifact, Provenance.

Standard library only, no behaviour beyond validation and (de)serialisation, so
that the engine, the renderer and the site generator can share it without torch.
"""

from __future__ import annotations

from tclab.model.artifacts import (
    LABELS,
    STAGES,
    Annotated,
    Artifact,
    Chain,
    Chart,
    Diff,
    Kernel,
    LineNote,
    Listing,
    SourceLine,
    Table,
    Text,
)
from tclab.model.codec import (
    KIND,
    KINDS,
    Json,
    decode,
    encode,
    encode_object,
    slug,
)
from tclab.model.compiles import (
    Break,
    Breaks,
    Graph,
    Guard,
    Guards,
    Node,
    Recompile,
    Recompiles,
    Symbol,
    Symbols,
)
from tclab.model.reports import Report
from tclab.model.runs import (
    CAUSES,
    NEEDS,
    Claim,
    Failure,
    Provenance,
    Run,
    Snippet,
)

__all__ = [
    "CAUSES",
    "KIND",
    "KINDS",
    "LABELS",
    "NEEDS",
    "STAGES",
    "Annotated",
    "Artifact",
    "Break",
    "Breaks",
    "Chain",
    "Chart",
    "Claim",
    "Diff",
    "Failure",
    "Graph",
    "Guard",
    "Guards",
    "Json",
    "Kernel",
    "LineNote",
    "Listing",
    "Node",
    "Provenance",
    "Recompile",
    "Recompiles",
    "Report",
    "Run",
    "Snippet",
    "SourceLine",
    "Symbol",
    "Symbols",
    "Table",
    "Text",
    "decode",
    "encode",
    "encode_object",
    "slug",
]
