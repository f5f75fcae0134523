"""Keep digests of the recorded files that are not runs: rows of ``tclab bench``, results of
comparisons.

``records/SHA256SUMS`` has a line for each file, in the format of sha256sum. The command that writes
a file writes its line. After a deliberate change:

python -m tclab.site.store.checksums records/FILE…

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
from tclab.system.project import NoProject, project_root

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: no locks
    fcntl = None  # type: ignore[assignment]

NAME = "SHA256SUMS"
# 9f86d081…0f00a08  h200-torch2.11/whole_models.json
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")


def find_problems(root: Path) -> list[RecordingError]:
    """Find the files below ``records/`` that were changed, are missing, or have no digest."""
    records = Path(root) / "records"
    names = {path.relative_to(records).as_posix() for path in _list_files(records)}
    found = []
    for name in sorted(names | _read(records).keys()):
        try:
            check(records / name, root)
        except RecordingError as problem:
            found.append(problem)
    return found


def check(path: Path, root: Path) -> None:
    """Raise RecordingError if a file below ``records/`` was changed.

    Files of a run are skipped, because they are checked with the run.
    """
    records = Path(root) / "records"
    name = _name(path, root)
    if name and (cause := _describe_damage(path, records, _read(records).get(name))):
        raise _damage_error(name, cause)


def check_beginning(path: Path) -> None:
    """Check a file to which a command adds lines. The first lines of the file must have the digest
    in the list. Further lines come from a command that was killed before it wrote the new digest.
    """
    path, root = path.resolve(), _find_root(path)
    if root and path.exists() and (name := _name(path, root)):
        content, digest = path.read_bytes(), _read(root / "records").get(name)
        if (content or digest) and not _has_beginning(content, digest):
            raise _damage_error(name, "is not what was written")


def write(path: Path) -> None:
    """Write the digest of a file below ``records/`` into the list; remove the line of a missing
    file.

    Other files are ignored. Raises StoreError if the list cannot be written.
    """
    path, root = path.resolve(), _find_root(path)
    if root and (name := _name(path, root)):
        records, new = root / "records", {}
        try:
            with hold_lock(records):
                if path.exists():
                    new[name] = hashlib.sha256(path.read_bytes()).hexdigest()
                rest = {other: d for other, d in _read(records).items() if other != name}
                _replace_list(records, rest | new)
        except OSError as error:
            cause, step = (
                f"cannot be written: {error.strerror}",
                f"free some space, then: {_describe_command(name)}",
            )
            raise StoreError(f"records/{NAME}", cause, step) from None


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a file or folder. The system releases it if its holder dies."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if fcntl:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# --------------------------------------------------------------------------- files


def _find_root(path: Path) -> Path | None:
    """Return the root of the project that contains a file; None if there is none."""
    try:
        return project_root(path.resolve().parent)
    except NoProject:
        return None


def _name(path: Path, root: Path) -> str:
    """Return the name of a file in the list; '' if it is outside ``records/``, or belongs to a
    run.
    """
    records = Path(root) / "records"
    if not path.is_relative_to(records) or (path.parent / "run.json").exists():
        return ""
    return path.relative_to(records).as_posix()


def _list_files(records: Path) -> Iterator[Path]:
    """Yield the files that need a digest in the list: all files except hidden ones and those of
    runs.
    """
    for folder, below, names in os.walk(records):
        below[:] = [name for name in below if not name.startswith(".")]
        if "run.json" not in names:
            yield from (Path(folder, n) for n in names if n != NAME and not n.startswith("."))


def _describe_damage(path: Path, records: Path, digest: str | None) -> str:
    """Describe the damage of a file; '' if it has none."""
    if digest is None:
        return f"has no digest in records/{NAME}"
    try:
        if path.resolve() != records.resolve() / path.relative_to(records):
            return "is a link, or lies behind one"
        same = hashlib.sha256(path.read_bytes()).hexdigest() == digest
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return "" if same else "was truncated or edited after it was written"


def _has_beginning(content: bytes, digest: str | None) -> bool:
    """Return whether the content, or a number of its first lines, has this digest."""
    hashed = hashlib.sha256()
    for line in content.splitlines(keepends=True):
        hashed.update(line)
        if hashed.hexdigest() == digest:
            return True
    return False


def _damage_error(name: str, cause: str) -> RecordingError:
    step = f"restore it (git checkout records/{name} records/{NAME})"
    return RecordingError(
        f"records/{name}", cause, f"{step}; if that was meant: {_describe_command(name)}"
    )


def _describe_command(name: str) -> str:
    return f"python -m tclab.site.store.checksums records/{name}"


def _read(records: Path) -> dict[str, str]:
    """Read the digests of the list by file name. Raises RecordingError, which names the line, if a
    line cannot be read.
    """
    try:
        lines = (records / NAME).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _unreadable_list("", str(error)) from None
    digests = {}
    for number, line in enumerate(lines, 1):
        if not (match := _LINE.fullmatch(line)):
            raise _unreadable_list(f":{number}", "is no line that sha256sum writes")
        digests[match[2]] = match[1]
    return digests


def _unreadable_list(line: str, cause: str) -> RecordingError:
    step = f"restore it: git checkout records/{NAME}"
    return RecordingError(f"records/{NAME}{line}", cause, step)


def _replace_list(records: Path, digests: dict[str, str]) -> None:
    """Replace the list. The old list stays until the new one is complete."""
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
    """Write the digests of files that were changed on purpose; remove the digests of deleted
    files.
    """
    try:
        for name in names:
            write(Path(name))
    except TclabError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
