"""A run as a folder of readable files, with digests over all of them.

``run.json`` holds everything short, and names the files beside it: the output, one
JSON file an artifact, and long code in a file of its own language. It is written last
and carries the SHA-256 of every other file and a digest over itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from tclab.errors import StoreError
from tclab.model import Run, decode, encode
from tclab.store.keys import digest, file_digest

FORMAT = 1
_LONG = {"code", "text", "tree"}  # fields of artifacts that get a file of their own
_SUFFIXES = {
    "python": ".py", "pycon": ".txt", "cpp": ".cpp", "c++": ".cpp", "c": ".c", "llvm": ".ll",
    "yaml": ".yaml", "bash": ".sh", "markdown": ".md", "ptx": ".ptx",
    "mlir": ".mlir", "nasm": ".s", "sass": ".sass",
}  # fmt: skip


def write(run: Run, folder: Path) -> None:
    """Write `run` into the new folder `folder`; OSError where that cannot be."""
    folder.mkdir(parents=True)
    data = encode(run)
    files = {"stdout.txt": data.pop("stdout"), "stderr.txt": data.pop("stderr")}
    files = {name: text for name, text in files.items() if text}
    data["artifacts"] = [
        _split(number, artifact, files) for number, artifact in enumerate(data["artifacts"], 1)
    ]
    for name, text in files.items():
        (folder / name).write_bytes(text.encode("utf-8", "backslashreplace"))
    top = {"format": FORMAT, "run": data}
    top["files"] = {name: file_digest(folder / name) for name in sorted(files)}
    top["digest"] = digest(top)
    (folder / "run.json").write_bytes(_pretty(top).encode())


def _pretty(data: Any) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _split(number: int, artifact: dict[str, Any], files: dict[str, str]) -> str:
    """Put one artifact's long texts and the rest of it into `files`; the name of the rest."""
    base = f"{number:02d}-{artifact['name'] or artifact['kind']}"
    for key in sorted(_LONG & artifact.keys()):
        if artifact[key]:
            name = base + ("" if key in ("code", "text") else f"-{key}") + _suffix(artifact, key)
            files[name] = artifact[key]
            artifact[key] = {"$file": name}
    files[f"{base}.json"] = _pretty(artifact)
    return f"{base}.json"


def _suffix(artifact: dict[str, Any], key: str) -> str:
    if artifact["kind"] == "graph" and key == "code":
        return ".py"
    return _SUFFIXES.get(artifact.get("language", ""), ".txt")


# --------------------------------------------------------------------------- reading


def head(folder: Path, name: str, error: type[StoreError] = StoreError) -> dict[str, Any]:
    """``run.json`` of a folder after every digest was checked; `error` names what is amiss."""
    path = folder / "run.json"
    data = _json(path, name, error)
    claimed = data.pop("digest", None)
    if data.get("format") != FORMAT or claimed != digest(data):
        raise _damaged(path, name, "is not what was written", error)
    for file, expected in data["files"].items():
        _check(folder / file, expected, name, error)
    return data


def read(folder: Path, name: str, error: type[StoreError] = StoreError) -> Run:
    """The run in a folder, every digest checked."""
    return whole(folder, head(folder, name, error), name, error)


def whole(
    folder: Path, data: dict[str, Any], name: str, error: type[StoreError] = StoreError
) -> Run:
    """The run that `data`, the folder's `head`, begins."""
    run = data["run"]
    for stream in ("stdout", "stderr"):
        run[stream] = _text(folder / f"{stream}.txt") if f"{stream}.txt" in data["files"] else ""
    run["artifacts"] = [_join(folder, file, name, error) for file in run["artifacts"]]
    try:
        return cast(Run, decode(run))
    except (ValueError, TypeError) as problem:
        raise _damaged(folder / "run.json", name, f"cannot be read: {problem}", error) from None


def _join(folder: Path, file: str, name: str, error: type[StoreError]) -> dict[str, Any]:
    artifact = _json(folder / file, name, error)
    for key, value in artifact.items():
        if isinstance(value, dict) and set(value) == {"$file"}:
            artifact[key] = _text(folder / value["$file"])
    return artifact


def _json(path: Path, name: str, error: type[StoreError]) -> dict[str, Any]:
    try:
        return cast("dict[str, Any]", json.loads(path.read_bytes()))
    except FileNotFoundError:
        raise _damaged(path, name, "is missing", error) from None
    except (OSError, ValueError) as problem:
        raise _damaged(path, name, f"is truncated or damaged: {problem}", error) from None


def _check(path: Path, expected: str, name: str, error: type[StoreError]) -> None:
    try:
        found = file_digest(path)
    except OSError as problem:
        raise _damaged(path, name, f"cannot be read: {problem}", error) from None
    if found != expected:
        raise _damaged(path, name, "was truncated or edited after it was written", error)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _damaged(path: Path, name: str, cause: str, error: type[StoreError]) -> StoreError:
    step = f"run it again: tclab run --force {name}"
    if error is not StoreError:
        step = "restore it (git checkout), or record it again: "
        step += f"tclab record {path.parents[2].name} {name}"
    return error(_shown(path), cause, step)


def _shown(path: Path) -> str:
    """The path from the folder of all runs on: enough to find it, the same on any machine."""
    return Path(*path.parts[-5:]).as_posix()


def names(folder: Path) -> Iterator[str]:
    """The snippets that have a run below `folder`."""
    for path in sorted(folder.glob("*/*/run.json")):
        if not path.parent.name.startswith("."):
            yield path.parent.relative_to(folder).as_posix()
