"""One compile held to its file: the nearest one is read, what differs judged, and written where
that is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tclab.baseline import files, page, words
from tclab.baseline.files import Baseline
from tclab.baseline.observed import Observed
from tclab.baseline.verdict import Verdict, judge
from tclab.model import Version

#: What became of a compile.
NO_FILE, WRITTEN, SAME, BETTER, WORSE, BY_TORCH = (
    "no file",
    "written",
    "the same",
    "better",
    "worse",
    "changed by PyTorch",
)


@dataclass(frozen=True)
class Outcome:
    """What became of a compile, one of the words above; `nearest` is the file it was compared
    with, `verdict` what differs from it; both are None where there is no file.
    """

    end: str
    now: Observed
    own: Baseline
    nearest: Path | None = None
    verdict: Verdict | None = None

    @property
    def head(self) -> str:
        """The verdict in one line."""
        if self.nearest is None or self.verdict is None:
            return "there is no file to compare with"
        if self.end == WORSE:
            return f"{len(self.verdict.worse)} worse than {self.nearest.name}"
        if self.end == BETTER:
            return f"better than {self.nearest.name}"
        then, now = files.version(self.nearest), Version.of(self.now.snapshot.torch)
        return f"changed by PyTorch, {then.short if then else ''} to {now.short}"

    def lines(self) -> Iterator[str]:
        """What differs: of kernels that another PyTorch changed the causes, else each change."""
        if self.verdict is None:
            return
        if self.end == BY_TORCH:
            yield from words.by_torch(self.verdict, self.now)
            return
        yield from words.changes(self.verdict.worse, self.now)
        yield from (f"better: {line}" for line in words.changes(self.verdict.better))
        yield from words.in_other_code(self.now)

    def report(self, folder: Path) -> Path | None:
        """The page of what differs, written into the folder; None where nothing was compared."""
        if self.verdict is None:
            return None
        path = folder / f"{files.plain(self.own.name)}.html"
        page.write(path, self.own.name, self.verdict)
        return path


def hold(folder: Path, name: str, now: Observed, level: str, *, update: bool) -> Outcome:
    """Compare a compile with the file of its name in `folder`, of its PyTorch or the nearest older
    one; with `update` write what differs. BadRequest for a file that holds no compile.
    """
    own = Baseline(folder, name, now.snapshot.torch)
    nearest = own.nearest()
    verdict = judge(files.read(nearest), now.snapshot, level) if nearest else None
    end = _end(verdict, by_torch=nearest != own.path)
    if update and (end != SAME or nearest != own.path):
        own.write(now.snapshot)
        end = WRITTEN
    return Outcome(end, now, own, nearest, verdict)


def _end(verdict: Verdict | None, *, by_torch: bool) -> str:
    if verdict is None:
        return NO_FILE
    if verdict.same:
        return SAME
    if by_torch:
        return BY_TORCH
    return WORSE if verdict.worse else BETTER
