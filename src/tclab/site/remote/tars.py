"""Pack folders into tars and unpack them. Refuse links, devices, paths outside of the folder, and
archive bombs.

Packing the same files gives the same bytes, because names are sorted, and owners, times and modes
are left out.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

#: Limits of a tar: number of files, bytes of one file, bytes of all files.
MAX_FILES, MAX_FILE_BYTES, MAX_BYTES = 20_000, 256 * 2**20, 2**30

_BLOCK = 512


class InvalidTar(ValueError):
    """Raised if a tar is refused; the message says why."""


def pack(folder: Path) -> bytes:
    """Pack all files of a folder into a tar."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return pack_files({path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})


def pack_files(files: Mapping[str, bytes]) -> bytes:
    """Pack files, given as contents by name, into a tar."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def iter_files(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file of a tar.

    Raises InvalidTar for a member that is not a plain file within the folder, and for a tar beyond
    the limits. The caller must then discard the files that were already yielded.
    """
    seen: set[str] = set()
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                name = _check_member(member, seen)
                total += member.size
                if total > MAX_BYTES or len(seen) > MAX_FILES:
                    raise InvalidTar(
                        f"more than {MAX_BYTES // 2**20} MiB or {MAX_FILES:,} files are in it"
                    )
                content = tar.extractfile(member)
                assert content is not None
                yield name, content.read()
    except (tarfile.TarError, OSError, EOFError) as error:
        raise InvalidTar(f"is no whole tar: {error}") from None
    if not seen:
        raise InvalidTar("nothing is in it")


def _check_member(member: tarfile.TarInfo, seen_names: set[str]) -> str:
    """Return the name of a member, after checking it."""
    name = member.name
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
        raise InvalidTar(f"{name!r} is no plain file")
    if not is_inside(name):
        raise InvalidTar(f"{name!r} leads out of its folder")
    if not 0 <= member.size <= MAX_FILE_BYTES:
        raise InvalidTar(f"{name!r} has {member.size:,} bytes")
    parents = {str(parent) for parent in PurePosixPath(name).parents}
    if name in seen_names or parents & seen_names:
        raise InvalidTar(f"{name!r} is in it twice")
    seen_names.add(name)
    return name


def is_inside(name: str) -> bool:
    """Return whether a name stays inside its folder and is in normal form."""
    path = PurePosixPath(name)
    plain = str(path) == name and not set(name) & set("\\\0:")
    return plain and not path.is_absolute() and ".." not in path.parts


def unpack(data: bytes, folder: Path) -> None:
    """Write the files of a tar into a new folder. Raises InvalidTar, before anything is written, if
    the tar is refused.
    """
    for name, content in list(iter_files(data)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
            file.write(content)
