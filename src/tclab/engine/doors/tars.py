"""Folders as tars, and back: no links, no devices, no way out of the folder, no bombs.

A tar of the same files is the same bytes: names are sorted, and owners, times and modes are left
out.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

#: Most files, bytes of one, and bytes of all.
MOST_FILES, MOST_OF_ONE, MOST = 20_000, 256 * 2**20, 2**30

_BLOCK = 512


class Unfit(ValueError):
    """A tar that is not unpacked, and why."""


def pack(folder: Path) -> bytes:
    """Every file of a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return of_files({path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})


def of_files(files: Mapping[str, bytes]) -> bytes:
    """These files, by name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def files(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Each file of a tar. Unfit for what is no plain file in the folder, or too much; nothing
    should be kept of what came before.
    """
    seen: set[str] = set()
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                name = _checked(member, seen)
                total += member.size
                if total > MOST or len(seen) > MOST_FILES:
                    raise Unfit(f"more than {MOST // 2**20} MiB or {MOST_FILES:,} files are in it")
                content = tar.extractfile(member)
                assert content is not None
                yield name, content.read()
    except (tarfile.TarError, OSError, EOFError) as error:
        raise Unfit(f"is no whole tar: {error}") from None
    if not seen:
        raise Unfit("nothing is in it")


def _checked(member: tarfile.TarInfo, seen: set[str]) -> str:
    """The name of a file that may be taken."""
    name = member.name
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
        raise Unfit(f"{name!r} is no plain file")
    if not is_inside(name):
        raise Unfit(f"{name!r} leads out of its folder")
    if not 0 <= member.size <= MOST_OF_ONE:
        raise Unfit(f"{name!r} has {member.size:,} bytes")
    above = {str(parent) for parent in PurePosixPath(name).parents}
    if name in seen or above & seen:
        raise Unfit(f"{name!r} is in it twice")
    seen.add(name)
    return name


def is_inside(name: str) -> bool:
    """A name below a folder, and the plainest one of it."""
    path = PurePosixPath(name)
    plain = str(path) == name and not set(name) & set("\\\0:")
    return plain and not path.is_absolute() and ".." not in path.parts


def unpack(data: bytes, folder: Path) -> None:
    """Write the files of a tar into a new folder. Unfit, with nothing written, for another one."""
    for name, content in list(files(data)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
            file.write(content)
