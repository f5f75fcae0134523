"""Define rules on whether anything was compiled, and whether the compiled code computes the right
results.
"""

from __future__ import annotations

from collections.abc import Iterator

from tclab.findings.evidence import Evidence
from tclab.model import DIFFERS, RESULTS_DIFFER, Finding


def find_difference(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the compiled results differ from eager's."""
    found = evidence.agreement
    if found.verdict == DIFFERS:
        places = (found.line,) if found.line else ()
        yield Finding(RESULTS_DIFFER, f"{found}", places, actions=(found.next_step,))


def find_known_faults(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each known fault of this PyTorch that the compile matches."""
    for advice in evidence.advisories:
        yield Finding("known-fault", f"{advice}", actions=(advice.workaround,), section="kernels")


def find_nothing_compiled(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if no frame of the compiled objects was compiled, or if no compile made a
    graph.
    """
    own = evidence.own
    if own and not own.frames:
        yield Finding("nothing-compiled", own.cause, actions=(own.fix,) if own.fix else ())
    elif not evidence.breaks.graphs:
        skipped = [item for item in evidence.breaks if item.skipped]
        cause = "Dynamo leaves the function to Python" if skipped else "no graph came of the call"
        yield Finding("nothing-compiled", cause)


RULES = (find_difference, find_known_faults, find_nothing_compiled)
