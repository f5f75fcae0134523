"""Find the outcomes of claims, and the verdicts on beliefs, under the installed PyTorch."""

from __future__ import annotations

from collections.abc import Mapping

from tclab.model import Claim, Run, Snippet, Table
from tclab.site.engine.plan import Plan
from tclab.site.store import keys
from tclab.site.versions.records import FAILED, FALSE, HELD, NOT_REACHED, VersionRecord

#: The name of the artifact that holds the verdicts of a snippet on beliefs.
VERDICTS = "verdicts"


def find_run(plan: Plan, snippet: Snippet) -> Run | None:
    """Find a fresh run under the installed PyTorch: this machine's or a recorded one."""
    if own := plan.fresh_run(snippet):
        return own
    recorded = (status.run() for status in plan.recorded_statuses(snippet) if status.fresh)
    here = plan.here.version.release
    return next(
        (e for e in recorded if _has_no_gpu(e) and e.provenance.version.release == here), None
    )


def _has_no_gpu(run: Run) -> bool:
    """Return whether the run was made on a machine without a GPU."""
    return not run.provenance.gpu


def claim_outcomes(snippet: Snippet, run: Run) -> Mapping[str, str]:
    """Return the outcome of each claim of a run, by name."""
    return {claim.name: _find_outcome(run, run.claim(claim.name)) for claim in snippet.claims}


def has_held(record: VersionRecord, snippet: Snippet, claim: str) -> bool:
    """Return whether the record has a run of the current snippet in which the claim held."""
    same = record.sources.get(snippet.name) == keys.source_key(snippet)
    return same and record.claims[snippet.name].get(claim) == HELD


def _find_outcome(run: Run, claim: Claim | None) -> str:
    if claim is not None and claim.reached:
        return HELD if claim.held else FALSE
    whole = run.failure is None or run.failure.cause == "assertion"
    return NOT_REACHED if whole else FAILED


def belief_verdicts(run: Run) -> dict[str, str]:
    """Return the verdict on each belief of a run.

    Verdicts from rows of another machine are left out: they are not about this PyTorch.
    """
    tables = (each for each in run.artifacts if isinstance(each, Table) and each.name == VERDICTS)
    return {str(row[0]): str(row[1]) for table in tables for row in table.rows if not row[3]}
