"""Digests of what a run shows depends on: its snippet and the code that captures. No torch."""

from __future__ import annotations

import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path

from tclab.model import Json, Provenance, Snippet

#: What of tclab decides what a run shows, given its snippet and its provenance.
_CAPTURE = (
    *("model", "capturing", "explain", "engine/worker/process.py", "engine/variables.py"),
    *("claims.py", "display.py", "scrub.py", "targets.py"),
)

#: Of a provenance, all that can change what a run shows: everything but the day.
PROVENANCE = (
    *("torch", "torch_git", "triton", "python", "cuda", "gpu", "driver", "cpu", "system"),
    *("cores", "variables"),
)


def digest(data: Json) -> str:
    """SHA-256 of JSON data, independent of the order of keys."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def source_key(snippet: Snippet) -> str:
    """Of the snippet and the local files it imports. Line endings do not count."""
    includes: list[Json] = [[p.name, _lines(p.read_bytes())] for p in snippet.includes]
    return digest([snippet.name, _lines(snippet.source.encode()), includes])


def _lines(content: bytes) -> str:
    return content.replace(b"\r\n", b"\n").decode("utf-8", "backslashreplace")


def provenance_key(provenance: Provenance) -> str:
    """Of all of a provenance that can change what a run shows."""
    values = {name: getattr(provenance, name) for name in PROVENANCE}
    return digest(values | {"variables": dict(provenance.variables)})


def capture_key() -> str:
    """Of the part of tclab that decides what a run shows."""
    files = [(str(path), path.stat().st_mtime_ns) for path in capture_files()]
    return _capture_key(tuple(sorted(files)))


def capture_files() -> list[Path]:
    """The files of tclab that decide what a run shows."""
    package = Path(__file__).resolve().parents[1]
    parts = [package / name for name in _CAPTURE]
    inside = (sorted(p.rglob("*.py")) if p.is_dir() else [p] for p in parts if p.exists())
    return [path for paths in inside for path in paths]


@lru_cache(maxsize=4)
def _capture_key(files: tuple[tuple[str, int], ...]) -> str:
    return digest([[os.path.basename(path), file_digest(path)] for path, _ in files])
