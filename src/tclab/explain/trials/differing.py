"""Results that differ from eager's: lines of the reader's that make them equal."""

from __future__ import annotations

from dataclasses import replace

from tclab.explain.trials import failing, same_results
from tclab.explain.trials.runner import TrialRunner
from tclab.model import DIFFERS, Agreement


def find_way(agreement: Agreement, runner: TrialRunner) -> Agreement:
    """The agreement, with the first line that was tried and makes the results equal. It is better
    than a backend without kernels, and not asked for where an option does it.
    """
    if agreement.verdict != DIFFERS or (agreement.way and "backend=" not in agreement.way):
        return agreement
    line = agreement.line.line if agreement.line else 0
    for remedy in same_results.list_rewrites(failing.read_file(runner), line):
        result = runner.run(remedy)
        if result is None:
            break
        if result.agrees:
            return replace(agreement, way=remedy.said)
    return agreement
