"""What one PyTorch made of the snippets and of the catalogue, as ``records/versions/`` keeps it.

A file is plain JSON: a line a snippet's claims, a belief, a compile, the body of a kernel. A body
stands once, under its digest, however many kernels have it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from tclab import files
from tclab.model import KernelIdentity, Provenance, Snapshot, decode, encode

FORMAT = "tclab version 1"
#: Below ``records/``.
FOLDER = "versions"
#: What came of a claim: its assert was true, was false, was not come to, or its snippet failed.
HELD, FALSE, NOT_REACHED, FAILED = "held", "false", "not reached", "failed"
#: Characters of a digest: enough to tell the kernels of a catalogue apart.
_DIGEST = 16


@dataclass(frozen=True)
class Compile:
    """One function or model for one target: its snapshot, or why there is none.

    `packages` says whose model it is, ``transformers 5.17.0``: another release writes it otherwise.
    """

    corpus: str
    name: str
    target: str
    snapshot: Snapshot | None = None
    failure: str = ""
    packages: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is compared with under another PyTorch."""
        return self.corpus, self.name, self.target, self.packages


@dataclass(frozen=True)
class VersionRecord:
    """`claims`: snippet → claim → what came of it. `sources`: snippet → the key of what was run.
    `verdicts`: belief → verdict.
    """

    machine: Provenance
    claims: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)
    compiles: tuple[Compile, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def release(self) -> str:
        """``2.13``"""
        return self.machine.version.short


def write(path: Path, record: VersionRecord) -> None:
    """The record as a file, in one step."""
    bodies: dict[str, str] = {}
    compiles = [_written(each, bodies) for each in sorted(record.compiles, key=lambda e: e.key)]
    parts = {
        "claims": _object(record.claims),
        "sources": _object(record.sources),
        "verdicts": _object(record.verdicts),
        "compiles": _lines("[]", map(_json, compiles)),
        "bodies": _object(bodies),
    }
    text = "".join(f',\n "{name}": {lines}' for name, lines in parts.items())
    head = f'"format": {_json(FORMAT)},\n "machine": {_json(asdict(record.machine))}'
    path.parent.mkdir(parents=True, exist_ok=True)
    files.replace(path, f"{{\n {head}{text}\n}}\n")


def read(path: Path) -> VersionRecord:
    """The inverse of `write`. ValueError for a file of another form."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if data.get("format") != FORMAT:
        raise ValueError(f"{path.name} has not the format {FORMAT!r}")
    return VersionRecord(
        Provenance(**data["machine"]),
        data["claims"],
        data["verdicts"],
        tuple(_read(each, data["bodies"]) for each in data["compiles"]),
        data["sources"],
    )


def every(folder: Path) -> list[VersionRecord]:
    """The records of a folder, the oldest PyTorch first."""
    return sorted(map(read, folder.glob("torch*.json")), key=lambda each: each.machine.version)


def _object(items: Mapping[str, Any]) -> str:
    return _lines("{}", (f"{_json(key)}: {_json(items[key])}" for key in sorted(items)))


def _lines(brackets: str, items: Iterable[str]) -> str:
    return "\n  ".join([brackets[0], ",\n  ".join(items)]) + f"\n {brackets[1]}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# ----------------------------------------------------------------------------- a compile


def _written(of: Compile, bodies: dict[str, str]) -> dict[str, Any]:
    """A compile without what is empty; its bodies go into `bodies`."""
    data: dict[str, Any] = {"corpus": of.corpus, "name": of.name, "target": of.target}
    if of.packages:
        data["packages"] = of.packages
    if of.snapshot is None:
        return {**data, "failure": of.failure}
    snapshot = of.snapshot
    kernels = [_short(kernel, bodies) for kernel in snapshot.kernels]
    plain = {**_plain(snapshot), "kernels": kernels}
    said = ("title", "target", "torch", "triton")
    return {**data, "snapshot": {name: plain[name] for name in plain if name not in said}}


def _short(kernel: KernelIdentity, bodies: dict[str, str]) -> dict[str, Any]:
    digest = hashlib.sha256(kernel.body.encode()).hexdigest()[:_DIGEST]
    bodies[digest] = kernel.body
    return {**_plain(kernel), "text": kernel.text[:_DIGEST], "body": digest}


def _plain(value: Any) -> dict[str, Any]:
    """The fields of a model's object that are not what they are by default."""
    named = ((each, getattr(value, each.name)) for each in fields(value))
    return {each.name: encode(item) for each, item in named if item != _default(each)}


def _default(of: Field[Any]) -> Any:
    return of.default if of.default_factory is MISSING else of.default_factory()


def _read(data: dict[str, Any], bodies: Mapping[str, str]) -> Compile:
    key = data["corpus"], data["name"], data["target"]
    packages = data.get("packages", "")
    if "snapshot" not in data:
        return Compile(*key, failure=data["failure"], packages=packages)
    own = dict(data["snapshot"])
    kernels = tuple(_kernel(each, bodies) for each in own.pop("kernels", ()))
    plain = {name: decode(value) for name, value in own.items()}
    snapshot = Snapshot(title=key[1], target=key[2], kernels=kernels, **plain)
    return Compile(*key, snapshot, packages=packages)


def _kernel(data: dict[str, Any], bodies: Mapping[str, str]) -> KernelIdentity:
    own = {name: decode(value) for name, value in data.items()}
    return KernelIdentity(**{**own, "body": bodies[own["body"]]})


def of_captures(folder: Path) -> Iterator[Compile]:
    """The compiles that `tclab.versions.compiles` wrote below ``FOLDER/CORPUS/TARGET/``."""
    for path in sorted(folder.glob("*/*/*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        snapshot = decode(data["snapshot"]) if "snapshot" in data else None
        corpus, target = path.parts[-3:-1]
        beside = data.get("failure", ""), data.get("packages", "")
        yield Compile(corpus, data["name"], target, snapshot, *beside)
