"""Try remedies before the report states them. Each trial makes the reader's calls again in a fresh
process that imports the file anew, so it sees no state of a compile or a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tclab.explain.own_compiles import GENERATOR, OTHER_METHOD
from tclab.explain.steps import OnStep, Step
from tclab.explain.trials import failing
from tclab.explain.trials.remedy import Remedy, TriedFixes
from tclab.explain.trials.runner import TrialRunner, open_runner
from tclab.findings.kernels import COMPILE_BLOCKS, worst_checkpoints
from tclab.model import DIFFERS, Checkpoints, OwnCompiles

if TYPE_CHECKING:
    from tclab.explain.request import ExplainRequest
    from tclab.explain.run import Outcome
    from tclab.explain.subject import Subject

_CALL_IT = "Call what torch.compile returns in its place."
_REBOUND = (
    "Bind it anew to the copy, copy.forward = types.MethodType(copy.forward.__func__, copy), or "
    "compile in place, with block.compile()."
)


def try_fixes(
    subject: Subject, request: ExplainRequest, outcome: Outcome, on_step: OnStep
) -> TriedFixes:
    """Try remedies for breaks, recompiles and results that differ from eager's; return the ones
    that help.
    """
    from tclab.explain.trials import breaks, differing, recompiles

    capture, own, agreement = outcome.capture, outcome.own, outcome.agreement
    differs = agreement.verdict == DIFFERS
    held = worst_checkpoints(capture.checkpoints)
    if not (capture.breaks or capture.recompiles or differs or held or (own and own.cause)):
        return TriedFixes(capture.breaks, own=own, agreement=agreement)
    on_step(Step("trying what may help"))
    with open_runner(request) as runner:
        recompile_fixes = recompiles.find_fixes(capture, subject, runner)
        hinted = breaks.try_hints(capture.breaks, recompile_fixes, runner)
        agreement = differing.find_remedy(agreement, runner)
        checkpoint_fix = _find_checkpoint_fix(held, runner) if held else ""
        own = _add_fix(own, runner)
        return TriedFixes(hinted, recompile_fixes, own, agreement, checkpoint_fix)


def _add_fix(own: OwnCompiles | None, runner: TrialRunner) -> OwnCompiles | None:
    """If none of the file's own compiles ran, add to `own` the remedy that makes them run."""
    if own is None or not own.cause:
        return own
    remedies = list(_list_remedies(own.cause, runner))
    for remedy in remedies:
        result = runner.run(remedy)
        if result is None:
            return replace(own, fix=f"{remedy.description} (Not tried.)")
        if frames := sum(result.compiles.values()):
            verb = "frame is" if frames == 1 else "frames are"
            return replace(own, fix=f"{remedy.description} Tried: {frames} {verb} compiled.")
    return replace(own, fix=f"{_CALL_IT} (Not tried.)" if "uncompiled" in own.cause else "")


def _list_remedies(cause: str, runner: TrialRunner) -> Iterator[Remedy]:
    if "bound to another object" in cause:
        yield Remedy(_REBOUND, rebound=True)
    if "Module.compile" in cause:
        called = re.search(r":(\d+) \((.*?)\);", cause)
        line = int(called[1]) if called else 0
        lines = failing.read_file(runner).splitlines()[:line]
        if lines and ".forward(" in lines[-1]:
            changed = lines[-1].replace(".forward(", "(")
            said = f"Call the module itself (line {line}): {changed.strip()}."
            yield Remedy(said, lines={line: changed})
    elif OTHER_METHOD in cause:
        yield Remedy("Compile the function that calls the method.", whole=True)
    elif GENERATOR in cause:
        yield Remedy("Compile the function that uses it up, in place of it.", whole=True)
    elif "uncompiled" in cause:
        for way in failing.IN_PLACE:
            yield replace(way, description=f"Compile in place: {way.description}.")


def _find_checkpoint_fix(checkpoints: Checkpoints, runner: TrialRunner) -> str:
    """Return how to make a backward hold fewer checkpointed regions; '' if no tried remedy helps.
    `checkpoints` are those that the backward holds without a remedy.
    """
    result = runner.run(Remedy(COMPILE_BLOCKS, backend="inductor", blocks=True))
    if result is None:
        return f"{COMPILE_BLOCKS} (Not tried.)"
    frames = sum(result.compiles.values())
    if result.error or not frames or result.held >= checkpoints.held:
        return ""
    verb = "frame is" if frames == 1 else "frames are"
    most = "one region" if result.held < 2 else f"{result.held} regions"
    return f"{COMPILE_BLOCKS} Tried: {frames} {verb} compiled, no backward holds more than {most}."
