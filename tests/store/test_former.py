"""Recordings of earlier formats: read as they are, and not rewritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tclab.errors import RecordingError
from tclab.model import Artifact, Kernel, decode
from tclab.store import former, run_files

ROOT = Path(__file__).resolve().parents[2]
RECORDED = sorted(path.parent for path in (ROOT / "records").glob("*/*/*/run.json"))


@pytest.mark.parametrize("folder", RECORDED, ids=lambda path: "/".join(path.parts[-3:]))
def test_every_committed_recording_is_read_whole(folder: Path) -> None:
    data = json.loads((folder / "run.json").read_bytes())
    run = run_files.read(folder, f"{folder.parent.name}/{folder.name}", RecordingError)
    assert (run.snippet, run.source_key) == (data["run"]["snippet"], data["run"]["source_key"])
    assert len(run.artifacts) == len(data["run"]["artifacts"]) > 0
    for artifact, file in zip(run.artifacts, data["run"]["artifacts"]):
        assert isinstance(artifact, Artifact)
        short = json.loads((folder / file).read_bytes())
        assert (artifact.title, artifact.name) == (short["title"], short["name"])
        for field in ("code", "text"):
            if isinstance(short.get(field), dict):
                long = (folder / short[field]["$file"]).read_bytes().decode()
                assert getattr(artifact, field) == long


def test_nested_kinds_and_mappings_of_format_1_are_read() -> None:
    line = {"kind": "source-line", "file": "a.py", "line": 3, "code": "", "function": ""}
    data = {"kind": "kernel", "title": "", "name": "k", "source_lines": [line],
            "facts": {"$x": "1", "grid": "2"}, "links": {"1": ["py:a.py:3"]}}  # fmt: skip
    kernel = decode(former.artifact(data, 1))
    assert isinstance(kernel, Kernel)
    assert kernel.source_lines[0].line == 3
    assert kernel.facts.written == {"$x": "1", "grid": "2"}
    assert kernel.links == {1: ("py:a.py:3",)}


def test_another_format_is_named(tmp_path: Path) -> None:
    data = {"format": run_files.FORMAT + 1, "run": {}, "files": {}}
    data["digest"] = run_files.digest(data)
    (tmp_path / "run.json").write_text(json.dumps(data))
    with pytest.raises(
        RecordingError, match=f"is of format {run_files.FORMAT + 1}, which this tclab does not read"
    ):
        run_files.read(tmp_path, "t/x", RecordingError)
