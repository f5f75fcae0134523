"""What a run rests on: the files that its processes imported, and the recorded files that they
asked for, each with its digest.

Names are from the project's root on (``snippets/topic/_shared.py``), for tclab's own code from
its package on (``tclab/bench/rows.py``), so that they mean the same on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from tclab.model import Run, Snippet

#: Digests of files by their names.
Digests = Mapping[str, str]

_PACKAGE = Path(__file__).resolve().parents[1]

#: What every run rests on, whatever its process imported: a process that it started and that was
#: killed has left no list; what its process began with is ``__main__`` there; and the engine
#: decides from outside which variables reach a run and what is kept of its output.
_FLOOR = (
    *("tclab/capturing/", "tclab/engine/worker/process.py"),
    *("tclab/engine/variables.py", "tclab/engine/job.py"),
)


def package() -> dict[str, str]:
    """Every Python file of tclab as it is now."""
    paths = sorted(_PACKAGE.rglob("*.py"))
    return {path.relative_to(_PACKAGE.parent).as_posix(): _digest_of(path) for path in paths}


def of_run(
    imported: Iterable[Path], snippet: Snippet, package: Digests, began: int
) -> dict[str, str]:
    """What a run rests on whose processes imported `imported`; nothing where none left a list.

    `package` is from before the run. Of the project's files those count that lie in the snippet's
    folder, recorded ones and those that it says it reads: what a compiler wrote and loaded does
    not. A recorded file that was asked for and was not there has no digest. One that
    changed since the run `began` (ns since the epoch) gets no digest, so that what is edited
    meanwhile makes the run stale.
    """
    root, folder = _root(snippet), snippet.path.resolve().parent
    files = {_name(path, root): path for path in imported}
    if not files:
        return {}
    places = (folder, root / "records")
    own = {name: path for name, path in files.items() if any(map(path.is_relative_to, places))}
    own |= {_name(path.resolve(), root): path for path in snippet.includes}
    code = {name for name in package if name in files.keys() | own or name.startswith(_FLOOR)}
    digests = {
        name: _digest_before(began, path) for name, path in own.items() if name and is_local(name)
    }
    return dict(sorted((digests | {name: package[name] for name in code}).items()))


def changed(run: Run, snippet: Snippet, package: Digests) -> list[str]:
    """The files that the run rests on and that are not what they were. A recording rests on
    none of `package`: it comes from a machine that has a tclab of its own.
    """
    root, recorded = _root(snippet), run.environment != "here"

    def now(name: str) -> str | None:
        return _digest_of(root / name) if is_local(name) else package.get(name)

    counted = (name for name in run.rests_on if is_local(name) or not recorded)
    return [name for name in counted if now(name) != run.rests_on[name]]


def is_local(name: str) -> bool:
    """It is a file of the project, not of tclab."""
    return not name.startswith("tclab/")


def _name(path: Path, root: Path) -> str:
    """The file as a run names it; '' for one that is neither tclab's nor the project's."""
    for above in (_PACKAGE.parent, root):
        if path.is_relative_to(above):
            return path.relative_to(above).as_posix()
    return ""


def _root(snippet: Snippet) -> Path:
    """The project that a snippet's file is named from."""
    path = snippet.path.resolve()
    return path.parents[len(Path(snippet.file).parts) - 1]


def _digest_before(moment: int, path: Path) -> str:
    """Its digest; '' where it changed after `moment`, by a time that no program can set."""
    return _digest_of(path) if path.exists() and path.stat().st_ctime_ns < moment else ""


def _digest_of(path: Path) -> str:
    """SHA-256 of a file without regard to line endings; '' where there is none."""
    try:
        status = path.stat()
        return _digest(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return ""


@lru_cache(maxsize=4096)
def _digest(path: Path, _modified: int, _size: int) -> str:
    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
