"""Compute digests of the inputs of a run: its snippet and its provenance. This module imports no
torch.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tclab.model import Json, Provenance, Snippet

#: The fields of a provenance that can change the output of a run: all but the date.
PROVENANCE = (
    *("torch", "torch_git", "triton", "compiler", "python", "cuda", "gpu", "driver", "cpu"),
    *("system", "cores", "variables"),
)


def digest(data: Json) -> str:
    """Return the SHA-256 of JSON data, independent of the order of keys."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def source_key(snippet: Snippet) -> str:
    """Return the digest of the snippet and the local files that it imports. Line endings do not
    count.
    """
    includes: list[Json] = [[p.name, _normalize_lines(p.read_bytes())] for p in snippet.includes]
    return digest([snippet.name, _normalize_lines(snippet.source.encode()), includes])


def _normalize_lines(content: bytes) -> str:
    return content.replace(b"\r\n", b"\n").decode("utf-8", "backslashreplace")


def provenance_key(provenance: Provenance) -> str:
    """Return the digest of the fields of a provenance that can change the output of a run."""
    values = {name: getattr(provenance, name) for name in PROVENANCE}
    return digest(values | {"variables": dict(provenance.variables)})
