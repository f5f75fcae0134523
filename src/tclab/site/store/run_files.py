"""Read and write a run as a folder of readable files, with digests of all of them.

``run.json`` holds the short fields and names the other files: the output, a JSON file for each
artifact, and long code in a file of its own language. ``run.json`` is written last, with the
SHA-256 of each other file and a digest of itself.

``format`` is the version of this layout. This module reads and writes only FORMAT. So a change of
the format needs a script that rewrites the recordings once.
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
from tclab.site.store.keys import digest, file_digest

#: The version of the layout that this module reads and writes.
FORMAT = 4
_FILE = "$file"  # {"$file": NAME} stands for a text in another file
# fields of artifacts whose texts are stored in separate files
_LONG_FIELDS = {"code", "text", "tree"}
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
    "amdgpu": ".s",
    "mlir": ".mlir",
    "nasm": ".s",
    "sass": ".sass",
}


def write(run: Run, folder: Path) -> None:
    """Write `run` into the new folder `folder`. Raises OSError if that is not possible."""
    folder.mkdir(parents=True)
    short = replace(run, artifacts=(), stdout="", stderr="")
    files = {"stdout.txt": run.stdout, "stderr.txt": run.stderr}
    files = {name: text for name, text in files.items() if text}
    names: list[Json] = [
        _add_files(n, artifact, files) for n, artifact in enumerate(run.artifacts, 1)
    ]
    for name, text in files.items():
        (folder / name).write_bytes(text.encode("utf-8", "backslashreplace"))
    data = encode_object(short) | {"artifacts": names}
    del data["stdout"], data["stderr"]
    digests: dict[str, Json] = {name: file_digest(folder / name) for name in sorted(files)}
    top: dict[str, Json] = {"format": FORMAT, "run": data, "files": digests}
    (folder / "run.json").write_bytes(_format_json(top | {"digest": digest(top)}).encode())


def _format_json(data: Json) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _add_files(number: int, artifact: Artifact, files: dict[str, str]) -> str:
    """Add an artifact's long texts and its JSON to `files`; return the name of the JSON file."""
    base = f"{number:02d}-{artifact.name or artifact.kind}"
    data = encode_object(artifact)
    for key in sorted(_LONG_FIELDS & data.keys()):
        if text := getattr(artifact, key):
            name = (
                base
                + ("" if key in ("code", "text") else f"-{key}")
                + _choose_suffix(artifact, key)
            )
            files[name] = text
            data[key] = {_FILE: name}
    files[f"{base}.json"] = _format_json(data)
    return f"{base}.json"


def _choose_suffix(artifact: Artifact, key: str) -> str:
    if artifact.kind == "graph" and key == "code":
        return ".py"
    return _SUFFIXES.get(getattr(artifact, "language", ""), ".txt")


# --------------------------------------------------------------------------- reading

#: Errors from decoding well-formed JSON that this module did not write.
DECODE_ERRORS = (ValueError, TypeError, LookupError, AttributeError, AssertionError, RecursionError)


@dataclass(frozen=True)
class Head:
    """The content of ``run.json``: the run without output and artifacts, and the list of other
    files.
    """

    run: Run
    folder: Path
    artifacts: tuple[str, ...]
    files: Mapping[str, str]  # name → SHA-256


def read_head(folder: Path, name: str, error_type: type[StoreError] = StoreError) -> Head:
    """Read ``run.json`` and check every digest. Raises `error_type` for a damaged file."""
    path = folder / "run.json"
    data = _read_json(path, name, error_type)
    if data.pop("digest", None) != digest(data):
        raise _damage_error(path, name, "is not what was written", error_type)
    if data.get("format") != FORMAT:
        cause = f"is of format {data.get('format')}, which this tclab does not read"
        raise _damage_error(path, name, cause, error_type)
    try:
        head = _decode_head(folder, data)
    except DECODE_ERRORS as problem:
        raise _damage_error(path, name, f"cannot be read: {problem}", error_type) from None
    for file, expected in head.files.items():
        _check_digest(folder / file, expected, name, error_type)
    return head


def _decode_head(folder: Path, data: dict[str, Json]) -> Head:
    run = decode_as(dict, data.get("run"))
    files = decode_as(Mapping[str, str], data.get("files"))
    artifacts = decode_as(tuple[str, ...], run.pop("artifacts", None))
    if outside := [file for file in files if file in ("", ".", "..") or set(file) & set("/\0")]:
        raise ValueError(f"{outside[0]!r} is no file of its folder")
    short = decode_as(Run, run)
    return Head(short, folder, tuple(_check_name(file, files) for file in artifacts), files)


def _check_name(file: object, files: Mapping[str, str]) -> str:
    """Return the name of a file. Raises ValueError unless the file has a digest."""
    if not isinstance(file, str) or file not in files:
        raise ValueError(f"{file!r} is not among its files")
    return file


def read(folder: Path, name: str, error_type: type[StoreError] = StoreError) -> Run:
    """Read the whole run in a folder, with every digest checked."""
    return read_rest(read_head(folder, name, error_type), error_type)


def read_rest(head: Head, error_type: type[StoreError] = StoreError) -> Run:
    """Read the artifacts and the output of the run whose head is `head`; return the whole run."""
    artifacts = tuple(_read_artifact(head, file, error_type) for file in head.artifacts)
    stdout, stderr = (_read_output(head, file, error_type) for file in ("stdout.txt", "stderr.txt"))
    return replace(head.run, artifacts=artifacts, stdout=stdout, stderr=stderr)


def _read_output(head: Head, file: str, error_type: type[StoreError]) -> str:
    path = head.folder / file
    try:
        return _read_text(path) if file in head.files else ""
    except (OSError, ValueError) as problem:
        raise _damage_error(
            path, head.run.snippet, f"cannot be read: {problem}", error_type
        ) from None


def _read_artifact(head: Head, file: str, error_type: type[StoreError]) -> Artifact:
    path, name = head.folder / file, head.run.snippet
    data = _read_json(path, name, error_type)
    try:
        for key, value in data.items():
            if isinstance(value, dict) and set(value) == {_FILE}:
                data[key] = _read_text(head.folder / _check_name(value[_FILE], head.files))
        return cast(Artifact, decode_as(Artifact, data))
    except (OSError, *DECODE_ERRORS) as problem:
        raise _damage_error(path, name, f"cannot be read: {problem}", error_type) from None


def _read_json(path: Path, name: str, error_type: type[StoreError]) -> dict[str, Json]:
    try:
        data: Json = json.loads(_read_bytes(path))
    except FileNotFoundError:
        raise _damage_error(path, name, "is missing", error_type) from None
    except (OSError, *DECODE_ERRORS) as problem:
        raise _damage_error(path, name, f"is truncated or damaged: {problem}", error_type) from None
    if not isinstance(data, dict):
        raise _damage_error(path, name, "is not what was written", error_type)
    return data


def _check_digest(path: Path, expected: str, name: str, error_type: type[StoreError]) -> None:
    try:
        actual = hashlib.sha256(_read_bytes(path)).hexdigest()
    except (OSError, ValueError) as problem:
        raise _damage_error(path, name, f"cannot be read: {problem}", error_type) from None
    if actual != expected:
        raise _damage_error(path, name, "was truncated or edited after it was written", error_type)


def _read_bytes(path: Path) -> bytes:
    """Return the content of a file of the folder. Raises OSError for a link, because a link may
    lead out of the folder.
    """
    if path.is_symlink():
        raise OSError("it is a link")
    return path.read_bytes()


def _read_text(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _damage_error(path: Path, name: str, cause: str, error_type: type[StoreError]) -> StoreError:
    step = f"run it again: tclab run --force {name}"
    if error_type is not StoreError:
        step = "restore it (git checkout), or record it again: "
        step += f"tclab record {path.parents[2].name} {name}"
    return error_type(_short_path(path), cause, step)


def _short_path(path: Path) -> str:
    """Return the path relative to the folder of all runs, which is the same on any machine."""
    return Path(*path.parts[-5:]).as_posix()


def snippet_names(folder: Path) -> Iterator[str]:
    """Yield the names of the snippets that have a run below `folder`, sorted."""
    for path in sorted(folder.glob("*/*/run.json")):
        if not path.parent.name.startswith("."):
            yield path.parent.relative_to(folder).as_posix()
