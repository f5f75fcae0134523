"""The committed recordings are read whole; another format is refused by its number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tclab.errors import RecordingError
from tclab.model import Artifact
from tclab.site.store import run_files

ROOT = Path(__file__).resolve().parents[2]
RECORDED = sorted(path.parent for path in (ROOT / "records").glob("*/*/*/run.json"))


def read_whole(folder: Path) -> None:
    """Compare the run in a folder with what its files say, each by itself."""
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


def test_every_committed_recording_is_read_whole() -> None:
    assert len(RECORDED) > 100
    for folder in RECORDED:
        read_whole(folder)


def test_another_format_is_named(tmp_path: Path) -> None:
    data = {"format": run_files.FORMAT + 1, "run": {}, "files": {}}
    data["digest"] = run_files.digest(data)
    (tmp_path / "run.json").write_text(json.dumps(data))
    with pytest.raises(
        RecordingError, match=f"is of format {run_files.FORMAT + 1}, which this tclab does not read"
    ):
        run_files.read(tmp_path, "t/x", RecordingError)
