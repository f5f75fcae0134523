"""Write the differences from a baseline as one HTML file, and show kernels side by side."""

from __future__ import annotations

from pathlib import Path

from tclab.compare.baseline import BaselineOutcome, file_name
from tclab.compare.pairs import DIFFERS, KernelPair
from tclab.compare.verdict import Verdict
from tclab.compare.words import tabulate_changes
from tclab.model import Diff, Kernel, KernelIdentity, Table
from tclab.render import figure, standalone
from tclab.render.escape import join
from tclab.system import files


def write_outcome(folder: Path, outcome: BaselineOutcome) -> Path | None:
    """Write a page of the differences into `folder`. The folder is made if it is missing. Return
    the page's path; None if nothing was compared.
    """
    verdict = outcome.verdict
    if verdict is None:
        return None
    path = folder / f"{file_name(outcome.baseline.name)}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    pairs = (each for each in verdict.comparison.pairs if each.level == DIFFERS)
    kernels = (draw_pair(each, ("before", "now")) for each in pairs)
    pieces = [figure(each) for each in (_tabulate_verdict(verdict), *kernels)]
    files.replace(path, standalone.page(outcome.baseline.name, join(pieces)))
    return path


def draw_pair(pair: KernelPair, sides: tuple[str, str]) -> Diff:
    """Return the normalised code of two kernels side by side; `sides` are their headings."""
    return Diff(
        pair.kernels[-1].title, "", sides, _kernel_listing(pair.old), _kernel_listing(pair.new)
    )


def _kernel_listing(kernel: KernelIdentity | None) -> tuple[Kernel, ...]:
    if kernel is None:
        return ()
    stage = "kernel" if kernel.language == "python" else "cpp"
    return (Kernel(kernel.title, "", f"{kernel.body}\n", kernel.language, stage),)


def _tabulate_verdict(verdict: Verdict) -> Table:
    changes = (*verdict.worse, *verdict.better)
    return tabulate_changes(
        changes, ("before", "now"), lambda each: "worse" if each in verdict.worse else "better"
    )
