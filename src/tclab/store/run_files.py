"""A run as a folder of readable files, with digests over all of them.

``run.json`` holds everything short, and names the files beside it: the output, one
JSON file an artifact, and long code in a file of its own language. It is written last
and carries the SHA-256 of every other file and a digest over itself.

``format`` numbers what the files look like. This module writes FORMAT, and reads all before it
(`former`): a recording outlives a change of the format without being made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from tclab.errors import StoreError
from tclab.model import Artifact, Json, Run, decode_as, encode_object
from tclab.store import former
from tclab.store.former import FORMAT
from tclab.store.keys import digest, file_digest

_FILE = "$file"  # marks the place of a text that has a file of its own
_LONG = {"code", "text", "tree"}  # fields of artifacts that get one
_SUFFIXES = {
    "python": ".py",
    "pycon": ".txt",
    "cpp": ".cpp",
    "c++": ".cpp",
    "c": ".c",
    "llvm": ".ll",
    "yaml": ".yaml",
    "bash": ".sh",
    "markdown": ".md",
    "ptx": ".ptx",
    "mlir": ".mlir",
    "nasm": ".s",
    "sass": ".sass",
}


def write(run: Run, folder: Path) -> None:
    """Write `run` into the new folder `folder`; OSError where that cannot be."""
    folder.mkdir(parents=True)
    short = replace(run, artifacts=(), stdout="", stderr="")
    files = {"stdout.txt": run.stdout, "stderr.txt": run.stderr}
    files = {name: text for name, text in files.items() if text}
    names: list[Json] = [_split(n, artifact, files) for n, artifact in enumerate(run.artifacts, 1)]
    for name, text in files.items():
        (folder / name).write_bytes(text.encode("utf-8", "backslashreplace"))
    data = encode_object(short) | {"artifacts": names}
    del data["stdout"], data["stderr"]
    digests: dict[str, Json] = {name: file_digest(folder / name) for name in sorted(files)}
    top: dict[str, Json] = {"format": FORMAT, "run": data, "files": digests}
    (folder / "run.json").write_bytes(_pretty(top | {"digest": digest(top)}).encode())


def _pretty(data: Json) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _split(number: int, artifact: Artifact, files: dict[str, str]) -> str:
    """Put one artifact's long texts and the rest of it into `files`; the name of the rest."""
    base = f"{number:02d}-{artifact.name or artifact.kind}"
    data = encode_object(artifact)
    for key in sorted(_LONG & data.keys()):
        if text := getattr(artifact, key):
            name = base + ("" if key in ("code", "text") else f"-{key}") + _suffix(artifact, key)
            files[name] = text
            data[key] = {_FILE: name}
    files[f"{base}.json"] = _pretty(data)
    return f"{base}.json"


def _suffix(artifact: Artifact, key: str) -> str:
    if artifact.kind == "graph" and key == "code":
        return ".py"
    return _SUFFIXES.get(getattr(artifact, "language", ""), ".txt")


# --------------------------------------------------------------------------- reading

#: What data raises that is well-formed JSON and yet nothing that was written here.
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, AssertionError, RecursionError)


@dataclass(frozen=True)
class Head:
    """What ``run.json`` says: the run without output and artifacts, and the files of these."""

    run: Run
    folder: Path
    artifacts: tuple[str, ...]
    files: Mapping[str, str]  # name → SHA-256
    format: int


def head(folder: Path, name: str, error: type[StoreError] = StoreError) -> Head:
    """``run.json`` of a folder after every digest was checked; `error` names what is amiss."""
    path = folder / "run.json"
    data = _json(path, name, error)
    if data.pop("digest", None) != digest(data):
        raise _damaged(path, name, "is not what was written", error)
    if data.get("format") not in range(1, FORMAT + 1):
        cause = f"is of format {data.get('format')}, which this tclab does not read"
        raise _damaged(path, name, cause, error)
    try:
        short = _head(folder, data)
    except UNREADABLE as problem:
        raise _damaged(path, name, f"cannot be read: {problem}", error) from None
    for file, expected in short.files.items():
        _check(folder / file, expected, name, error)
    return short


def _head(folder: Path, data: dict[str, Json]) -> Head:
    number, run = decode_as(int, data["format"]), decode_as(dict, data.get("run"))
    files = decode_as(Mapping[str, str], data.get("files"))
    artifacts = decode_as(tuple[str, ...], run.pop("artifacts", None))
    if outside := [file for file in files if file in ("", ".", "..") or set(file) & set("/\0")]:
        raise ValueError(f"{outside[0]!r} is no file of its folder")
    short = decode_as(Run, former.run(run, number))
    return Head(short, folder, tuple(_named(file, files) for file in artifacts), files, number)


def _named(file: object, files: Mapping[str, str]) -> str:
    """The name of a file, if it is one of those that have a digest; ValueError."""
    if not isinstance(file, str) or file not in files:
        raise ValueError(f"{file!r} is not among its files")
    return file


def read(folder: Path, name: str, error: type[StoreError] = StoreError) -> Run:
    """The run in a folder, every digest checked."""
    return whole(head(folder, name, error), error)


def whole(short: Head, error: type[StoreError] = StoreError) -> Run:
    """The run that a folder's `head` begins."""
    artifacts = tuple(_artifact(short, file, error) for file in short.artifacts)
    stdout, stderr = (_output(short, file, error) for file in ("stdout.txt", "stderr.txt"))
    return replace(short.run, artifacts=artifacts, stdout=stdout, stderr=stderr)


def _output(short: Head, file: str, error: type[StoreError]) -> str:
    path = short.folder / file
    try:
        return _text(path) if file in short.files else ""
    except (OSError, ValueError) as problem:
        raise _damaged(path, short.run.snippet, f"cannot be read: {problem}", error) from None


def _artifact(short: Head, file: str, error: type[StoreError]) -> Artifact:
    path, name = short.folder / file, short.run.snippet
    data = _json(path, name, error)
    try:
        for key, value in data.items():
            if isinstance(value, dict) and set(value) == {_FILE}:
                data[key] = _text(short.folder / _named(value[_FILE], short.files))
        return cast(Artifact, decode_as(Artifact, former.artifact(data, short.format)))
    except (OSError, *UNREADABLE) as problem:
        raise _damaged(path, name, f"cannot be read: {problem}", error) from None


def _json(path: Path, name: str, error: type[StoreError]) -> dict[str, Json]:
    try:
        data: Json = json.loads(_bytes(path))
    except FileNotFoundError:
        raise _damaged(path, name, "is missing", error) from None
    except (OSError, *UNREADABLE) as problem:
        raise _damaged(path, name, f"is truncated or damaged: {problem}", error) from None
    if not isinstance(data, dict):
        raise _damaged(path, name, "is not what was written", error)
    return data


def _check(path: Path, expected: str, name: str, error: type[StoreError]) -> None:
    try:
        actual = hashlib.sha256(_bytes(path)).hexdigest()
    except (OSError, ValueError) as problem:
        raise _damaged(path, name, f"cannot be read: {problem}", error) from None
    if actual != expected:
        raise _damaged(path, name, "was truncated or edited after it was written", error)


def _bytes(path: Path) -> bytes:
    """What a file of the folder holds; OSError for a link, which may lead out of it."""
    if path.is_symlink():
        raise OSError("it is a link")
    return path.read_bytes()


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
