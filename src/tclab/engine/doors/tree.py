"""What of a project travels to other machines, once, under the digest of all of it.

The snippets, tclab's own code, and the recorded files that a snippet may read, but no run: only
runs that a snippet says it reads. So what runs elsewhere runs under this tclab, whichever the
worker itself has, and rests on the same files.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tclab
from tclab.engine.doors import tars
from tclab.model import Snippet

_PACKAGE = Path(tclab.__file__).resolve().parent


@dataclass(frozen=True)
class Tree:
    """Files of a project, by their names in it; `names` by their paths here."""

    content: dict[str, bytes]
    names: dict[Path, str]

    @cached_property
    def digest(self) -> str:
        """Of all names and all bytes."""
        hashed = hashlib.sha256()
        for name, content in sorted(self.content.items()):
            hashed.update(f"{name}\0{len(content)}\0".encode() + content)
        return hashed.hexdigest()

    @cached_property
    def packed(self) -> bytes:
        """As it travels."""
        return gzip.compress(tars.of_files(self.content), 6, mtime=0)


def of(root: Path, snippets: Iterable[Snippet]) -> Tree:
    """The tree of the project at `root`, with every file of these snippets."""
    root = Path(root).absolute()
    content: dict[str, bytes] = {"mkdocs.yml": b""}
    names: dict[Path, str] = {}
    for path in _files(root):
        content[path.relative_to(root).as_posix()] = path.read_bytes()
    for path in _code():
        content[_name(path, root)] = path.read_bytes()
    for path in {p for snippet in snippets for p in (snippet.path, *snippet.includes)}:
        names[path] = _name(path, root)
        content[names[path]] = path.read_bytes()
        beside = path.with_name("run.json")  # says where a recorded artifact was measured
        if "records" in path.parts and beside.is_file():
            content[_name(beside, root)] = beside.read_bytes()
    return Tree(content, names)


def _name(path: Path, root: Path) -> str:
    """What a file is called in the tree: tclab's code lies in ``src/`` there, and a job that was
    written into a store elsewhere in ``store/``.
    """
    if path.resolve().is_relative_to(_PACKAGE):
        return f"src/{path.resolve().relative_to(_PACKAGE.parent).as_posix()}"
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else f"store/{path.name}"


def _files(root: Path) -> Iterator[Path]:
    """Snippets and what they share, and recorded files that belong to no run."""
    for folder, below, names in os.walk(root / "snippets", followlinks=True):
        below[:] = [name for name in below if name != "__pycache__"]
        yield from (Path(folder, name) for name in names if not name.endswith(".pyc"))
    for folder, below, names in os.walk(root / "records"):
        below[:] = [n for n in below if n[0] != "." and Path(folder, n) != root / _BIG]
        if "run.json" not in names:
            yield from (Path(folder, name) for name in names if not name.startswith("."))


_BIG = "records/versions"  # megabytes that few snippets read, and those say so


def _code() -> Iterator[Path]:
    yield from (path for path in _PACKAGE.rglob("*") if path.is_file() and _counts(path))


def _counts(path: Path) -> bool:
    return "__pycache__" not in path.parts and path.suffix != ".pyc"


def unpack(data: bytes, digest: str, folder: Path) -> None:
    """Write a tree into a new folder. `tars.Unfit` where it is not the one of this digest."""
    try:
        content = dict(tars.files(_plain(data)))
    except (OSError, EOFError) as error:
        raise tars.Unfit(f"is no whole tree: {error}") from None
    if Tree(content, {}).digest != digest:
        raise tars.Unfit("is another tree than that of its digest")
    for name, text in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def _plain(data: bytes) -> bytes:
    """What was compressed, up to what a tar may hold."""
    with gzip.open(io.BytesIO(data)) as file:
        plain = file.read(tars.MOST + 1)
    if len(plain) > tars.MOST:
        raise tars.Unfit(f"more than {tars.MOST // 2**20} MiB are in it")
    return plain
