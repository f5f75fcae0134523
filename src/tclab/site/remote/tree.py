"""Collect the files of a project that other machines need; they are sent once, by digest.

A tree contains the snippets, tclab's own code, and the recorded files that a snippet may read. Of
recorded runs it contains only those that a snippet names in its header. So a job runs with this
tclab, whatever version the worker has, and reads the same files as on this machine.
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
from tclab.model import Snippet
from tclab.site.remote import tars

_PACKAGE = Path(tclab.__file__).resolve().parent


@dataclass(frozen=True)
class Tree:
    """The files of a project. `content` maps a name in the tree to the file's content. `names` maps
    a path on this machine to the name in the tree.
    """

    content: dict[str, bytes]
    names: dict[Path, str]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all names and contents, as hex digits."""
        hashed = hashlib.sha256()
        for name, content in sorted(self.content.items()):
            hashed.update(f"{name}\0{len(content)}\0".encode() + content)
        return hashed.hexdigest()

    @cached_property
    def packed(self) -> bytes:
        """The tree as a gzipped tar, in bytes."""
        return gzip.compress(tars.pack_files(self.content), 6, mtime=0)


def collect(root: Path, snippets: Iterable[Snippet]) -> Tree:
    """Return the tree of the project at `root`, with all files of these snippets."""
    root = Path(root).absolute()
    content: dict[str, bytes] = {"mkdocs.yml": b""}
    names: dict[Path, str] = {}
    for path in _project_files(root):
        content[path.relative_to(root).as_posix()] = path.read_bytes()
    for path in _package_files():
        content[_tree_name(path, root)] = path.read_bytes()
    for path in {p for snippet in snippets for p in (snippet.path, *snippet.includes)}:
        names[path] = _tree_name(path, root)
        content[names[path]] = path.read_bytes()
        run_file = path.with_name(
            "run.json"
        )  # the provenance names the machine that measured a recorded artifact
        if "records" in path.parts and run_file.is_file():
            content[_tree_name(run_file, root)] = run_file.read_bytes()
    return Tree(content, names)


def _tree_name(path: Path, root: Path) -> str:
    """Return a file's name in the tree.

    In the tree, tclab's code is in ``src/``, and a file from a store outside of the project is in
    ``store/``.
    """
    if path.resolve().is_relative_to(_PACKAGE):
        return f"src/{path.resolve().relative_to(_PACKAGE.parent).as_posix()}"
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else f"store/{path.name}"


def _project_files(root: Path) -> Iterator[Path]:
    """Yield snippets, their shared code, and recorded files that belong to no run."""
    for folder, folders, names in os.walk(root / "snippets", followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(folder, name) for name in names if not name.endswith(".pyc"))
    for folder, folders, names in os.walk(root / "records"):
        folders[:] = [
            n for n in folders if n[0] != "." and Path(folder, n) != root / _LARGE_RECORDS
        ]
        if "run.json" not in names:
            yield from (Path(folder, name) for name in names if not name.startswith("."))


# These records take megabytes. The few snippets that read them name them in their header.
_LARGE_RECORDS = "records/versions"


def _package_files() -> Iterator[Path]:
    yield from (path for path in _PACKAGE.rglob("*") if path.is_file() and _is_source(path))


def _is_source(path: Path) -> bool:
    return "__pycache__" not in path.parts and path.suffix != ".pyc"


def unpack(data: bytes, digest: str, folder: Path) -> None:
    """Unpack a tree into a new folder. Raises `tars.InvalidTar` if the tree does not have this
    digest.
    """
    try:
        content = dict(tars.iter_files(_decompress(data)))
    except (OSError, EOFError) as error:
        raise tars.InvalidTar(f"is no whole tree: {error}") from None
    if Tree(content, {}).digest != digest:
        raise tars.InvalidTar("is another tree than that of its digest")
    for name, text in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def _decompress(data: bytes) -> bytes:
    """Decompress a tree. Raises InvalidTar if it is larger than a tar may be."""
    with gzip.open(io.BytesIO(data)) as file:
        plain = file.read(tars.MAX_BYTES + 1)
    if len(plain) > tars.MAX_BYTES:
        raise tars.InvalidTar(f"more than {tars.MAX_BYTES // 2**20} MiB are in it")
    return plain
