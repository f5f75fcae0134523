"""Digests of what is recorded beside runs: rows of ``tclab bench``, results of comparisons.

``records/SHA256SUMS`` has a line for each file, as sha256sum writes and checks them. The command
that writes a file writes its line. After a change that was meant:

python -m tclab.store.checksums records/FILE…

The folder of a run has its digests in ``run.json``.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tclab.errors import RecordingError, StoreError, TclabError
from tclab.project import NoProject, project_root

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: no locks
    fcntl = None  # type: ignore[assignment]

NAME = "SHA256SUMS"
# 9f86d081…0f00a08  h200-torch2.11/whole_models.json
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")


def problems(root: Path) -> list[RecordingError]:
    """Each file below ``records/`` that is not what was written, is missing, or has no digest."""
    records = Path(root) / "records"
    names = {path.relative_to(records).as_posix() for path in _files(records)}
    found = []
    for name in sorted(names | _read(records).keys()):
        try:
            check(records / name, root)
        except RecordingError as problem:
            found.append(problem)
    return found


def check(path: Path, root: Path) -> None:
    """RecordingError for a file below ``records/`` that is not what was written. One of a run is
    checked with the run.
    """
    records = Path(root) / "records"
    name = _name(path, root)
    if name and (cause := _damage(path, records, _read(records).get(name))):
        raise _damaged(name, cause)


def check_beginning(path: Path) -> None:
    """As `check`, of a file that grows: lines below those that have a digest are of a command that
    was killed before it wrote one.
    """
    path, root = path.resolve(), _root(path)
    if root and path.exists() and (name := _name(path, root)):
        content, digest = path.read_bytes(), _read(root / "records").get(name)
        if (content or digest) and not _begins(content, digest):
            raise _damaged(name, "is not what was written")


def write(path: Path) -> None:
    """Put the digest of a file that a command just wrote into the list, if it is a project's
    record; a file that is gone loses its line. StoreError where that cannot be.
    """
    path, root = path.resolve(), _root(path)
    if root and (name := _name(path, root)):
        records, new = root / "records", {}
        try:
            with locked(records):
                if path.exists():
                    new[name] = hashlib.sha256(path.read_bytes()).hexdigest()
                rest = {other: d for other, d in _read(records).items() if other != name}
                _put(records, rest | new)
        except OSError as error:
            cause, step = (
                f"cannot be written: {error.strerror}",
                f"free some space, then: {_again(name)}",
            )
            raise StoreError(f"records/{NAME}", cause, step) from None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file or folder, which the system releases if its holder dies."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if fcntl:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# --------------------------------------------------------------------------- files


def _root(path: Path) -> Path | None:
    """The project that a file lies in."""
    try:
        return project_root(path.resolve().parent)
    except NoProject:
        return None


def _name(path: Path, root: Path) -> str:
    """The file as the list names it; '' for one that is no record, or is of a run."""
    records = Path(root) / "records"
    if not path.is_relative_to(records) or (path.parent / "run.json").exists():
        return ""
    return path.relative_to(records).as_posix()


def _files(records: Path) -> Iterator[Path]:
    """What must have a digest in the list: no file of a run, and none that is hidden."""
    for folder, below, names in os.walk(records):
        below[:] = [name for name in below if not name.startswith(".")]
        if "run.json" not in names:
            yield from (Path(folder, n) for n in names if n != NAME and not n.startswith("."))


def _damage(path: Path, records: Path, digest: str | None) -> str:
    if digest is None:
        return f"has no digest in records/{NAME}"
    try:
        if path.resolve() != records.resolve() / path.relative_to(records):
            return "is a link, or lies behind one"
        same = hashlib.sha256(path.read_bytes()).hexdigest() == digest
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return "" if same else "was truncated or edited after it was written"


def _begins(content: bytes, digest: str | None) -> bool:
    """Whether the content, or its first lines, have this digest."""
    hashed = hashlib.sha256()
    for line in content.splitlines(keepends=True):
        hashed.update(line)
        if hashed.hexdigest() == digest:
            return True
    return False


def _damaged(name: str, cause: str) -> RecordingError:
    step = f"restore it (git checkout records/{name} records/{NAME})"
    return RecordingError(f"records/{name}", cause, f"{step}; if that was meant: {_again(name)}")


def _again(name: str) -> str:
    return f"python -m tclab.store.checksums records/{name}"


def _read(records: Path) -> dict[str, str]:
    """Each file's digest. RecordingError at the line that cannot be read."""
    try:
        lines = (records / NAME).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _unreadable("", str(error)) from None
    digests = {}
    for number, line in enumerate(lines, 1):
        if not (match := _LINE.fullmatch(line)):
            raise _unreadable(f":{number}", "is no line that sha256sum writes")
        digests[match[2]] = match[1]
    return digests


def _unreadable(line: str, cause: str) -> RecordingError:
    step = f"restore it: git checkout records/{NAME}"
    return RecordingError(f"records/{NAME}{line}", cause, step)


def _put(records: Path, digests: dict[str, str]) -> None:
    """Replace the list: the old one is there until the new one is whole."""
    new = records / f".{NAME}.new"
    text = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    try:
        with open(new, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(records / NAME)
    finally:
        new.unlink(missing_ok=True)


def main(names: list[str]) -> int:
    """Write the digests of files that were changed on purpose; drop those of removed ones."""
    try:
        for name in names:
            write(Path(name))
    except TclabError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
