"""The files that compiles are held to: one for each name and minor version of PyTorch."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from tclab import files
from tclab.errors import BadRequest
from tclab.model import Snapshot, Version

_MOST = 100  # letters of a name: some systems end a path at 260
# test_model.test_forward.torch2.13.json
_NAME = re.compile(r"(?P<name>.+)\.torch(?P<version>\d+\.\d+)\.json")


def plain(name: str) -> str:
    """A file name that is the same on every system, and another for each name: what cannot stand
    in one, or differs by case alone, is replaced and told apart by a digest. ``test_it[8]`` is
    ``test_it-8``.
    """
    shown = re.sub(r"\[(.*)\]", r"-\1", name, count=1)
    text = re.sub(r"[^A-Za-z0-9_.-]+", "-", shown).strip("-.")[:_MOST]
    if text == shown and text == text.lower():
        return text
    return f"{text}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Baseline:
    """The files of one compile in `folder`, for a PyTorch such as ``2.13.0+cpu``."""

    folder: Path
    name: str
    torch: str

    @property
    def path(self) -> Path:
        """The file of this version, there or not."""
        return self.folder / f"{plain(self.name)}.torch{self.version}.json"

    @property
    def version(self) -> str:
        """The minor version, such as ``2.13``."""
        return Version.of(self.torch).short

    def nearest(self) -> Path | None:
        """The file of this version, or else of the nearest older one."""
        found = {
            path: version(path) for path in self.folder.glob(f"{plain(self.name)}.torch*.json")
        }
        here = Version.of(self.torch).release
        older = {path: of.release for path, of in found.items() if of and of.release <= here}
        return max(older, key=lambda path: older[path], default=None)

    def write(self, snapshot: Snapshot) -> None:
        """Keep what it is now, in place of what it was."""
        self.folder.mkdir(parents=True, exist_ok=True)
        files.replace(self.path, snapshot.to_json())


def version(path: Path) -> Version | None:
    """Which PyTorch a file is of; None for a file of another kind."""
    match = _NAME.fullmatch(path.name)
    return Version.of(match["version"]) if match else None


def read(path: Path) -> Snapshot:
    """What a compile was. BadRequest for a file that holds none."""
    try:
        return Snapshot.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError) as error:
        step = "take it back from version control, or write it anew with the flag for updates"
        raise BadRequest(str(path), f"is no file of a compile: {error}", step) from error
