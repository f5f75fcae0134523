"""Read and write the records of one PyTorch version: claims, verdicts and compiles, kept in
``records/versions/``.

A file is plain JSON, with a line for each snippet's claims, each belief, each compile and each body
of a kernel. A body is stored once, under its digest, even if several kernels have it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from tclab.model import KernelIdentity, Provenance, Snapshot, decode, encode
from tclab.system import files

FORMAT = "tclab version 1"
#: The folder of the records, below ``records/``.
FOLDER = "versions"
#: The outcome of a claim: its assert was true, false or not reached, or its snippet failed.
HELD, FALSE, NOT_REACHED, FAILED = "held", "false", "not reached", "failed"
#: Characters of a digest: enough to tell the kernels of a catalogue apart.
_DIGEST = 16


@dataclass(frozen=True)
class Compile:
    """The compile of a function or model for one target: its snapshot, or the reason why it failed.

    `packages` names the package and release that defines a model, such as ``transformers 5.17.0``;
    another release may define it differently.
    """

    corpus: str
    name: str
    target: str
    snapshot: Snapshot | None = None
    failure: str = ""
    packages: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The key of the compile. The same compile under another PyTorch has the same key."""
        return self.corpus, self.name, self.target, self.packages


@dataclass(frozen=True)
class VersionRecord:
    """The record of one PyTorch version. `claims` maps a snippet to the outcomes of its claims.
    `sources` maps a snippet to the source key of its run. `verdicts` maps a belief to its verdict.
    """

    machine: Provenance
    claims: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)
    compiles: tuple[Compile, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def release(self) -> str:
        """The release of PyTorch, such as ``2.13``."""
        return self.machine.version.short


def write(path: Path, record: VersionRecord) -> None:
    """Write the record to a file, which is replaced in one step."""
    bodies: dict[str, str] = {}
    compiles = [
        _encode_compile(each, bodies) for each in sorted(record.compiles, key=lambda e: e.key)
    ]
    parts = {
        "claims": _format_object(record.claims),
        "sources": _format_object(record.sources),
        "verdicts": _format_object(record.verdicts),
        "compiles": _format_lines("[]", map(_format_json, compiles)),
        "bodies": _format_object(bodies),
    }
    text = "".join(f',\n "{name}": {lines}' for name, lines in parts.items())
    head = f'"format": {_format_json(FORMAT)},\n "machine": {_format_json(asdict(record.machine))}'
    path.parent.mkdir(parents=True, exist_ok=True)
    files.replace(path, f"{{\n {head}{text}\n}}\n")


def read(path: Path) -> VersionRecord:
    """Read a record that `write` wrote. Raises ValueError for a file of another format."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if data.get("format") != FORMAT:
        raise ValueError(f"{path.name} has not the format {FORMAT!r}")
    return VersionRecord(
        Provenance(**data["machine"]),
        data["claims"],
        data["verdicts"],
        tuple(_decode_compile(each, data["bodies"]) for each in data["compiles"]),
        data["sources"],
    )


def read_all(folder: Path) -> list[VersionRecord]:
    """Read the records of a folder, the oldest PyTorch first."""
    return sorted(map(read, folder.glob("torch*.json")), key=lambda each: each.machine.version)


def _format_object(items: Mapping[str, Any]) -> str:
    return _format_lines(
        "{}", (f"{_format_json(key)}: {_format_json(items[key])}" for key in sorted(items))
    )


def _format_lines(brackets: str, items: Iterable[str]) -> str:
    return "\n  ".join([brackets[0], ",\n  ".join(items)]) + f"\n {brackets[1]}"


def _format_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# ----------------------------------------------------------------------------- a compile


def _encode_compile(compiled: Compile, bodies: dict[str, str]) -> dict[str, Any]:
    """Return a compile as JSON without empty fields; add the bodies of its kernels to `bodies`."""
    data: dict[str, Any] = {
        "corpus": compiled.corpus,
        "name": compiled.name,
        "target": compiled.target,
    }
    if compiled.packages:
        data["packages"] = compiled.packages
    if compiled.snapshot is None:
        return {**data, "failure": compiled.failure}
    snapshot = compiled.snapshot
    kernels = [_encode_kernel(kernel, bodies) for kernel in snapshot.kernels]
    plain = {**_encode_fields(snapshot), "kernels": kernels}
    stated_elsewhere = ("title", "target", "torch", "triton")
    return {
        **data,
        "snapshot": {name: plain[name] for name in plain if name not in stated_elsewhere},
    }


def _encode_kernel(kernel: KernelIdentity, bodies: dict[str, str]) -> dict[str, Any]:
    digest = hashlib.sha256(kernel.body.encode()).hexdigest()[:_DIGEST]
    bodies[digest] = kernel.body
    return {**_encode_fields(kernel), "text": kernel.text[:_DIGEST], "body": digest}


def _encode_fields(value: Any) -> dict[str, Any]:
    """Encode the fields of an object that differ from their defaults."""
    named = ((each, getattr(value, each.name)) for each in fields(value))
    return {each.name: encode(item) for each, item in named if item != _find_default(each)}


def _find_default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _decode_compile(data: dict[str, Any], bodies: Mapping[str, str]) -> Compile:
    key = data["corpus"], data["name"], data["target"]
    packages = data.get("packages", "")
    if "snapshot" not in data:
        return Compile(*key, failure=data["failure"], packages=packages)
    own = dict(data["snapshot"])
    kernels = tuple(_decode_kernel(each, bodies) for each in own.pop("kernels", ()))
    plain = {name: decode(value) for name, value in own.items()}
    snapshot = Snapshot(title=key[1], target=key[2], kernels=kernels, **plain)
    return Compile(*key, snapshot, packages=packages)


def _decode_kernel(data: dict[str, Any], bodies: Mapping[str, str]) -> KernelIdentity:
    own = {name: decode(value) for name, value in data.items()}
    return KernelIdentity(**{**own, "body": bodies[own["body"]]})


def read_compiles(folder: Path) -> Iterator[Compile]:
    """Read compiles from ``FOLDER/CORPUS/TARGET/``, where the workshop's `compiles` writes them."""
    for path in sorted(folder.glob("*/*/*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        snapshot = decode(data["snapshot"]) if "snapshot" in data else None
        corpus, target = path.parts[-3:-1]
        beside = data.get("failure", ""), data.get("packages", "")
        yield Compile(corpus, data["name"], target, snapshot, *beside)
