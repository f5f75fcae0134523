"""What came of the claims of snippets, and of beliefs, under the PyTorch that is here."""

from __future__ import annotations

from collections.abc import Mapping

from tclab.engine.plan import Plan
from tclab.model import Claim, Run, Snippet, Table
from tclab.store import keys
from tclab.versions.records import FAILED, FALSE, HELD, NOT_REACHED, VersionRecord

#: The artifact in which a snippet on beliefs shows its verdicts.
VERDICTS = "verdicts"


def known(plan: Plan, snippet: Snippet) -> Run | None:
    """A run of a snippet under the PyTorch that is here, this machine's or a recorded one."""
    if own := plan.fresh_run(snippet):
        return own
    recorded = (status.run() for status in plan.recordings(snippet) if status.fresh)
    here = plan.here.version.release
    return next((e for e in recorded if _plain(e) and e.provenance.version.release == here), None)


def _plain(run: Run) -> bool:
    """It was made on a machine such as this: without a GPU."""
    return not run.provenance.gpu


def of_run(snippet: Snippet, run: Run) -> Mapping[str, str]:
    """Claim → what came of it."""
    return {claim.name: _outcome(run, run.claim(claim.name)) for claim in snippet.claims}


def held_under(record: VersionRecord, snippet: Snippet, claim: str) -> bool:
    """Whether the snippet as it is now was run for the record, and the claim held."""
    same = record.sources.get(snippet.name) == keys.source_key(snippet)
    return same and record.claims[snippet.name].get(claim) == HELD


def _outcome(run: Run, claim: Claim | None) -> str:
    if claim is not None and claim.reached:
        return HELD if claim.held else FALSE
    whole = run.failure is None or run.failure.cause == "assertion"
    return NOT_REACHED if whole else FAILED


def verdicts(run: Run) -> dict[str, str]:
    """Belief → verdict, of a snippet on beliefs; those that rows of another machine gave are not
    of this PyTorch.
    """
    tables = (each for each in run.artifacts if isinstance(each, Table) and each.name == VERDICTS)
    return {str(row[0]): str(row[1]) for table in tables for row in table.rows if not row[3]}
