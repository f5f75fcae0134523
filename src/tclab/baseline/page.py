"""A failure as one HTML file, which a CI can keep: what differs, and each kernel side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tclab import files
from tclab.baseline.verdict import Verdict
from tclab.model import Artifact, Diff, Kernel, KernelIdentity, Table
from tclab.render import figure, standalone
from tclab.render.escape import join
from tclab.snapshot import DIFFERS


def write(path: Path, title: str, verdict: Verdict) -> None:
    """Write the page, in a folder that need not be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pieces = [figure(each) for each in (_table(verdict), *_kernels(verdict))]
    files.replace(path, standalone.page(title, join(pieces)))


def _table(verdict: Verdict) -> Table:
    both = [("worse", verdict.worse), ("better", verdict.better)]
    rows = [
        (judged, e.part, e.title, *_values(e.before, e.after)) for judged, of in both for e in of
    ]
    columns = ("judged", "where", "what", "before", "now")
    return Table("What differs", "differences", columns=columns, rows=tuple(rows))


def _values(before: str, after: str) -> tuple[str, str]:
    """Code stands below the table."""
    one, two = ("code" if "\n" in text else text for text in (before, after))
    return one, "other code" if one == two == "code" else two


def _kernels(verdict: Verdict) -> Iterator[Artifact]:
    for pair in verdict.comparison.pairs:
        if pair.level == DIFFERS:
            title = pair.kernels[-1].title
            yield Diff(title, "", ("before", "now"), _listing(pair.old), _listing(pair.new))


def _listing(kernel: KernelIdentity | None) -> tuple[Kernel, ...]:
    if kernel is None:
        return ()
    stage = "kernel" if kernel.language == "python" else "cpp"
    return (Kernel(kernel.title, "", f"{kernel.body}\n", kernel.language, stage),)
