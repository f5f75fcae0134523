"""Try remedies before the report states them: make the reader's calls again with each one, in a
fresh process that imports the file anew, so no trial sees state of a compile or a call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tclab.explain.steps import OnStep, Step
from tclab.explain.trials.remedy import Remedy, Tried
from tclab.explain.trials.trier import Trier, trying
from tclab.model import DIFFERS, OwnCompiles

if TYPE_CHECKING:
    from tclab.explain.request import ExplainRequest
    from tclab.explain.run import Outcome
    from tclab.explain.subject import Subject

_REBOUND = (
    "Bind it anew to the copy, copy.forward = types.MethodType(copy.forward.__func__, copy), or "
    "compile in place, with block.compile()."
)


def try_fixes(
    subject: Subject, request: ExplainRequest, outcome: Outcome, on_step: OnStep
) -> Tried:
    """Try remedies for breaks, recompiles and results unlike eager's; return those that help."""
    from tclab.explain.trials import breaks, differing, recompiles

    capture, own, agreement = outcome.capture, outcome.own, outcome.agreement
    differs = agreement.verdict == DIFFERS
    if not (capture.breaks or capture.recompiles or differs or (own and own.cause)):
        return Tried(capture.breaks, own=own, agreement=agreement)
    on_step(Step("trying what may help"))
    with trying(request) as trier:
        functions = recompiles.find_fixes(capture, subject, trier)
        hinted = breaks.tried(capture.breaks, functions, trier)
        agreement = differing.find_way(agreement, trier)
        return Tried(hinted, functions, _add_fix(own, trier), agreement)


def _add_fix(own: OwnCompiles | None, trier: Trier) -> OwnCompiles | None:
    """Add the fix to the file's own compiles if a `forward` is bound to another object."""
    if own is None or "bound to another object" not in own.cause:
        return own
    seen = trier.see(Remedy(rebound=True))
    if seen is None:
        return replace(own, fix=f"{_REBOUND} (Not tried.)")
    frames = sum(seen.compiles.values())
    return replace(own, fix=f"{_REBOUND} Tried: {frames} frames are compiled." if frames else "")
