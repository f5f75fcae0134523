"""Read and write baselines: files with earlier compiles, one for each name and minor version of
PyTorch. Compare a compile with its file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tclab.compare import words
from tclab.compare.identity import clean_guards
from tclab.compare.summary import CompileSummary
from tclab.compare.verdict import Verdict, judge
from tclab.errors import BadRequest
from tclab.model import Snapshot, Version
from tclab.model.codec import UNREADABLE
from tclab.system import files

#: The status of a `BaselineOutcome`.
NO_FILE, WRITTEN, SAME, BETTER, WORSE, CHANGED_BY_TORCH = (
    "no file",
    "written",
    "the same",
    "better",
    "worse",
    "changed by PyTorch",
)
_MAX_NAME_LENGTH = 100  # the most characters of a name, since some systems limit a path to 260
# test_model.test_forward.torch2.13.json
_FILE_NAME = re.compile(r"(?P<name>.+)\.torch(?P<version>\d+\.\d+)\.json")


def file_name(name: str) -> str:
    """Return a file name that is valid on every system and unique to `name`: ``test_it-8`` for
    ``test_it[8]``. A digest is added if any other character is replaced, or if a letter is upper
    case.
    """
    shown = re.sub(r"\[(.*)\]", r"-\1", name, count=1)
    text = re.sub(r"[^A-Za-z0-9_.-]+", "-", shown).strip("-.")[:_MAX_NAME_LENGTH]
    if text == shown and text == text.lower():
        return text
    return f"{text}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Baseline:
    """The baseline files of the compile `name` in `folder`; `torch` is the full version, such as
    ``2.13.0+cpu``.
    """

    folder: Path
    name: str
    torch: str

    @property
    def path(self) -> Path:
        """The path of the file for this version of PyTorch. The file may not exist."""
        return self.folder / f"{file_name(self.name)}.torch{self.version}.json"

    @property
    def version(self) -> str:
        """PyTorch's minor version, such as ``2.13``."""
        return Version.parse(self.torch).short

    def find_nearest_file(self) -> Path | None:
        """Return the file of this version or of the nearest older one; None if there is neither."""
        found = {
            path: parse_file_version(path)
            for path in self.folder.glob(f"{file_name(self.name)}.torch*.json")
        }
        current = Version.parse(self.torch).release
        older = {
            path: version.release
            for path, version in found.items()
            if version and version.release <= current
        }
        return max(older, key=lambda path: older[path], default=None)

    def write(self, snapshot: Snapshot) -> None:
        """Replace this version's file by `snapshot`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        files.replace(self.path, snapshot.to_json())


def parse_file_version(path: Path) -> Version | None:
    """Return the PyTorch version in a file's name; None if it is not a baseline file."""
    match = _FILE_NAME.fullmatch(path.name)
    return Version.parse(match["version"]) if match else None


def read_baseline(path: Path) -> Snapshot:
    """Return the compile in a file. Raises BadRequest if the file contains no compile."""
    try:
        return clean_guards(Snapshot.from_json(path.read_text(encoding="utf-8")))
    except UNREADABLE as error:
        step = "take it back from version control, or write it anew with the flag for updates"
        raise BadRequest(str(path), f"is no file of a compile: {error}", step) from error


@dataclass(frozen=True)
class BaselineOutcome:
    """The comparison of a compile with its baseline file. `status` is one of the constants above.
    `nearest_file` is the file that was compared, and `verdict` lists the differences; both are None
    if there is no file. `baseline` names the file for the compile's own PyTorch version.
    """

    status: str
    current: CompileSummary
    baseline: Baseline
    nearest_file: Path | None = None
    verdict: Verdict | None = None

    @property
    def headline(self) -> str:
        """The outcome as one line of text."""
        if self.nearest_file is None or self.verdict is None:
            return "there is no file to compare with"
        if self.status == WORSE:
            return f"{len(self.verdict.worse)} worse than {self.nearest_file.name}"
        if self.status == BETTER:
            return f"better than {self.nearest_file.name}"
        then = parse_file_version(self.nearest_file)
        now = Version.parse(self.current.snapshot.torch)
        return f"changed by PyTorch, {then.short if then else ''} to {now.short}"

    def lines(self) -> Iterator[str]:
        """Yield lines on each difference; kernels are grouped by cause if PyTorch changed."""
        if self.verdict is None:
            return
        if self.verdict.comparison.lacks_findings and self.current.snapshot.findings is not None:
            name = self.nearest_file.name if self.nearest_file else ""
            yield f"findings are not compared: {name} was written by an earlier tclab"
        if self.status == CHANGED_BY_TORCH:
            yield from words.list_by_cause(self.verdict, self.current)
            return
        yield from words.list_changes(self.verdict.worse, self.current)
        yield from (f"better: {line}" for line in words.list_changes(self.verdict.better))
        yield from words.list_breaks_elsewhere(self.current)

    def next_step(self, flag: str) -> str:
        """Return the next step, or '' if nothing is to be done; `flag` is the option that writes
        the file.
        """
        steps = {
            NO_FILE: f"say {flag} to write {self.baseline.path}",
            WORSE: f"mend it; or, where it is meant, say {flag}",
            BETTER: f"say {flag} to keep it so",
            CHANGED_BY_TORCH: f"say {flag} to keep a file of PyTorch {self.baseline.version}",
        }
        return steps.get(self.status, "")


def check_baseline(
    folder: Path, name: str, current: CompileSummary, level: str, *, update: bool
) -> BaselineOutcome:
    """Compare a compile with the file of its name in `folder`, for its PyTorch version or else the
    nearest older version. With `update`, write the file if it differs. Raises BadRequest for a file
    without a compile or with another target, unless `update` replaces the file.
    """
    own = Baseline(folder, name, current.snapshot.torch)
    nearest = own.find_nearest_file()
    try:
        verdict = (
            judge(_read_baseline_snapshot(nearest, current), current.snapshot, level)
            if nearest
            else None
        )
    except BadRequest:
        if not update:
            raise
        verdict = None
    end = _decide_status(verdict, by_torch=nearest != own.path)
    if update and (end != SAME or nearest != own.path):
        own.write(current.snapshot)
        end = WRITTEN
    return BaselineOutcome(end, current, own, nearest, verdict)


def _read_baseline_snapshot(path: Path, current: CompileSummary) -> Snapshot:
    """Read the snapshot of a baseline. Raises BadRequest if the file has none, or if the baseline
    was compiled for another target.
    """
    before = read_baseline(path)
    then, target = (each.target or "this machine" for each in (before, current.snapshot))
    if then != target:
        step = "give it another name, or write it anew with the flag for updates"
        raise BadRequest(str(path), f"is of {then}, and this compile is for {target}", step)
    return before


def _decide_status(verdict: Verdict | None, *, by_torch: bool) -> str:
    if verdict is None:
        return NO_FILE
    if verdict.same:
        return SAME
    if by_torch:
        return CHANGED_BY_TORCH
    return WORSE if verdict.worse else BETTER
