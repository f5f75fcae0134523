"""Find the dependencies of a run, each with its digest: the files of the project that its processes
imported or opened to read, and the files that the snippet and its helpers name in their text.

Names are relative to the project's root (``snippets/topic/_shared.py``). Names of tclab's own files
begin with its package (``tclab/workshop/bench/rows.py``). Names of other files in a folder of
PYTHONPATH begin with this word (``$PYTHONPATH/helper.py``). So the names are equal on every
machine.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from tclab.model import Run, Snippet
from tclab.site.snippets.named_files import named_files
from tclab.system.imports import is_installed

#: Digests of files by their names.
Digests = Mapping[str, str]

_PACKAGE = Path(__file__).resolve().parents[2]
# the beginnings of names of tclab's files, and of files in PYTHONPATH
_CODE, _OUTSIDE = "tclab/", "$PYTHONPATH/"

#: Dependencies of every run, even if no list of imports names them. A killed process leaves no
#: list, and a list does not name the first file of its process, which is ``__main__``. The engine,
#: which runs in another process, decides which variables reach a run and which part of its output
#: is kept.
_ALWAYS_DEPENDENCIES = (
    *("tclab/capturing/", "tclab/site/engine/worker/process.py"),
    *("tclab/site/engine/variables.py", "tclab/site/engine/job.py"),
)


def package_digests() -> dict[str, str]:
    """Return the digests of all Python files of tclab, as they are now."""
    paths = sorted(_PACKAGE.rglob("*.py"))
    return {path.relative_to(_PACKAGE.parent).as_posix(): _file_digest(path) for path in paths}


def dependency_digests(
    imported_files: Iterable[Path],
    opened_files: Iterable[Path],
    snippet: Snippet,
    package: Digests,
    began: int,
) -> dict[str, str]:
    """Return the digests of a run's dependencies; empty if no process left a list of its imports.

    `imported_files` are the files that the run's processes imported, and `opened_files` are those
    that they read. `package` has the digests of tclab's files from before the run. A file in a
    hidden folder of the project, where compilers write, is a dependency only if the snippet's
    header names it.

    The digest is '' for a recorded file that was missing, and for a file that changed after the run
    `began` (ns since the epoch), so that an edit during the run makes the run stale.
    """
    root = _find_root(snippet)
    files = {_name(path, root): path for path in imported_files}
    if not files:
        return {}
    own = {name: path for name, path in files.items() if name and not _is_hidden(name)}
    own |= {_name(path.resolve(), root): path for path in snippet.includes}
    read = {*opened_files, *_named_files(snippet, own, root)} - {snippet.path.resolve()}
    own |= {_name(path, root): path for path in read if _is_read(path, root, began)}
    code = {name for name in package if name in own or name.startswith(_ALWAYS_DEPENDENCIES)}
    digests = {
        name: _digest_before(began, path)
        for name, path in own.items()
        if name and not name.startswith(_CODE)
    }
    return dict(sorted((digests | {name: package[name] for name in code}).items()))


def _named_files(snippet: Snippet, files_by_name: Mapping[str, Path], root: Path) -> Iterator[Path]:
    """Yield the files that the snippet or a file of the project that it imports names in its text,
    because code in C++ or another program may open them.
    """
    helpers = (
        path
        for name, path in files_by_name.items()
        if is_project_file(name) and path.suffix == ".py"
    )
    for path in (snippet.path, *helpers):
        yield from named_files(path, root)


def _is_read(path: Path, root: Path, began: int) -> bool:
    """Return whether a run depends on a file that it may have opened. It depends on a file of the
    project, unless the file changed after the run `began`, because then the run itself may have
    written it.
    """
    if not path.is_relative_to(root) or path.is_relative_to(_PACKAGE) or not path.is_file():
        return False
    hidden = _is_hidden(path.relative_to(root).as_posix())
    cached = path.suffix == ".pyc" or is_installed(str(path))
    return not hidden and not cached and path.stat().st_ctime_ns < began


def changed_files(run: Run, snippet: Snippet, package: Digests) -> list[str]:
    """Return the names of the run's dependencies that have changed since the run.

    For a recording tclab's own files do not count, because the recording comes from a machine with
    another tclab.
    """
    root, recorded = _find_root(snippet), run.environment != "here"

    def current_digest(name: str) -> str | None:
        return package.get(name) if name.startswith(_CODE) else _file_digest(_locate(name, root))

    counted = (name for name in run.rests_on if is_project_file(name) or not recorded)
    return [name for name in counted if current_digest(name) != run.rests_on[name]]


def is_project_file(name: str) -> bool:
    """Return whether a dependency is a file of the project, and not of tclab or PYTHONPATH."""
    return not name.startswith((_CODE, _OUTSIDE))


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in Path(name).parts)


def _name(path: Path, root: Path) -> str:
    """Return a file's name as a dependency; '' for an installed file, and for a file outside of the
    project and PYTHONPATH.
    """
    if path.is_relative_to(_PACKAGE):
        return path.relative_to(_PACKAGE.parent).as_posix()
    if is_installed(str(path)):
        return ""
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    bases = (folder for folder in _python_path() if path.is_relative_to(folder))
    return next((f"{_OUTSIDE}{path.relative_to(base).as_posix()}" for base in bases), "")


def _locate(name: str, root: Path) -> Path:
    """Return the path of a dependency. In PYTHONPATH it is the first file of this name, which
    Python would import.
    """
    if not name.startswith(_OUTSIDE):
        return root / name
    inside = name.removeprefix(_OUTSIDE)
    found = (folder / inside for folder in _python_path() if (folder / inside).is_file())
    return next(found, root / name)


def _python_path() -> list[Path]:
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [Path(folder).resolve() for folder in folders if folder]


def _find_root(snippet: Snippet) -> Path:
    """Return the root of the project to which a snippet belongs."""
    path = snippet.path.resolve()
    return path.parents[len(Path(snippet.file).parts) - 1]


def _digest_before(moment: int, path: Path) -> str:
    """Return the digest of a file; '' if it changed after `moment` by its ctime, which programs
    cannot set.
    """
    return _file_digest(path) if path.exists() and path.stat().st_ctime_ns < moment else ""


def _file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in which CRLF counts as LF; '' if the file cannot be read."""
    try:
        status = path.stat()
        return _cached_digest(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return ""


@lru_cache(maxsize=4096)
def _cached_digest(path: Path, _modified: int, _size: int) -> str:
    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
