"""Find the reader's line that makes results differ from eager's, and a rewrite that makes them
equal.
"""

from __future__ import annotations

from dataclasses import replace

from tclab.explain.trials import failing, same_results
from tclab.explain.trials.runner import TrialRunner
from tclab.model import DIFFERS, Agreement


def find_way(agreement: Agreement, runner: TrialRunner) -> Agreement:
    """Return the agreement with the first tried line that makes the results equal. Such a line is
    better than a backend without kernels; it is not searched for if an option helps.
    """
    if agreement.verdict != DIFFERS or (agreement.way and "backend=" not in agreement.way):
        return agreement
    line = agreement.line.line if agreement.line else 0
    for remedy in same_results.list_rewrites(failing.read_file(runner), line):
        result = runner.run(remedy)
        if result is None:
            break
        if result.agrees:
            return replace(agreement, way=remedy.description)
    return agreement
