"""One job's folder: what the snippet's process is told, and what it left behind."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, cast

from tclab import claims
from tclab.engine import failures, variables
from tclab.model import Artifact, Provenance, Run, Snippet, decode
from tclab.scrub import plain, scrub
from tclab.store import keys

_KEPT_OF_TOO_MUCH = 64 * 1024  # bytes of a stream that went over its limit


def prepare(folder: Path, snippet: Snippet, root: Path) -> None:
    """Make the folder of a run. Its working folder sees the project's snippets and no more."""
    for name in ("work", "tmp", "cache"):
        (folder / name).mkdir(parents=True)
    os.symlink(root / "snippets", folder / "work" / "snippets")
    _share_headers(folder / "tmp")
    job = {
        "file": f"snippets/{snippet.name}.py",
        "path": str(snippet.path.parent),
        "source": snippet.source,
        "raises": snippet.raises,
    }
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")


def _share_headers(temporary: Path) -> None:
    """Let a cold process find the C++ headers that PyTorch precompiled once for all.

    It keeps them in ``torchinductor_<user>`` of the temporary folder whatever the cache
    folder is; building them takes longer than most compiles.
    """
    with contextlib.suppress(OSError, KeyError):
        name = "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
        shared = Path(tempfile.gettempdir()) / name
        shared.mkdir(mode=0o700, exist_ok=True)
        os.symlink(shared, temporary / name)


def remove(folder: Path) -> None:
    """The folder has served."""
    shutil.rmtree(folder, ignore_errors=True)


def request(number: int, folder: Path, snippet: Snippet, cache: Path) -> dict[str, Any]:
    """What the supervisor is told. A timed snippet is cold, and shares no compiled objects."""
    own: dict[str, str | None] = dict(variables.job_variables(folder))
    if snippet.alone:
        own |= variables.cache_folders(folder / "cache")
        own |= variables.undone()
    else:
        own |= variables.cache_folders(cache)
    return {
        "job": number,
        "folder": str(folder),
        "timeout": snippet.timeout,
        "memory": snippet.memory * 2**20,
        "output": failures.OUTPUT_LIMIT,
        "cold": snippet.alone,
        "variables": own,
    }


def collect(
    folder: Path,
    ended: dict[str, Any],
    snippet: Snippet,
    provenance: Provenance,
    environment: str,
    key: str,
) -> Run:
    """The run, from what its process left and how it ended."""
    end = _end(folder)
    where = _text(folder / "where", 20)
    fault = _text(folder / "fault", 1 << 20)
    noted = end or {"reached": {}, "broken": {}}
    judged = claims.judged(snippet.claims, noted["reached"], noted["broken"])
    failure = failures.of_job(snippet, ended, end, fault, int(where or 0))
    if failure is None:
        failure = failures.of_claims(snippet, claims.false(judged, provenance.torch))
    return _run(
        snippet,
        provenance,
        environment,
        key,
        seconds=ended["seconds"],
        peak_memory=ended["peak"],
        artifacts=_artifacts(folder / "artifacts.jsonl"),
        stdout=_output(folder / "stdout", ended),
        stderr=_output(folder / "stderr", ended),
        failure=failure,
        raised=(end or {}).get("raised", ""),
        claims=judged,
    )


def lost(log: str, snippet: Snippet, provenance: Provenance, environment: str, key: str) -> Run:
    """The run of a snippet under which the engine's process died."""
    failure = failures.lost(snippet, log)
    return _run(snippet, provenance, environment, key, seconds=0, peak_memory=0, failure=failure)


def _run(snippet: Snippet, provenance: Provenance, environment: str, key: str, **rest: Any) -> Run:
    return Run(
        snippet=snippet.name,
        environment=environment,
        source_key=keys.source_key(snippet),
        key=key,
        provenance=provenance,
        **rest,
    )


def _end(folder: Path) -> dict[str, Any] | None:
    try:
        return cast("dict[str, Any]", json.loads((folder / "end.json").read_bytes()))
    except (OSError, ValueError):
        return None


def _artifacts(path: Path) -> tuple[Artifact, ...]:
    """What was shown; a line cut short by a crash is dropped."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            found.append(decode(json.loads(line)))
        except ValueError:
            break
    return tuple(found)


def _output(path: Path, ended: dict[str, Any]) -> str:
    if ended["limit"] != "output":
        return scrub(_text(path, failures.OUTPUT_LIMIT))
    text = scrub(_text(path, _KEPT_OF_TOO_MUCH))
    return f"{text}\n[cut: the limit was broken]\n" if len(text) >= _KEPT_OF_TOO_MUCH else text


def _text(path: Path, limit: int) -> str:
    """Output as text: bytes that are not UTF-8 as ``\\xff``, no ANSI escapes."""
    try:
        with path.open("rb") as file:
            return plain(file.read(limit).decode("utf-8", "backslashreplace"))
    except OSError:
        return ""
