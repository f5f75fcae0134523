"""Find the reader's line that makes results differ from eager's, and a rewrite that makes them
equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tclab.explain.trials import failing, same_results
from tclab.explain.trials.remedy import Remedy
from tclab.explain.trials.runner import TrialRunner
from tclab.model import DIFFERS, Agreement

_LATE_HOOKS = Remedy(
    "compiled code does not ask whether a module got or lost a hook after the first call; with "
    "torch._dynamo.config.skip_nnmodule_hook_guards = False it does",
    settings={"skip_nnmodule_hook_guards": False},
    backend="inductor",
    compared=True,
)


def remedies(text: str, line: int) -> Iterator[Remedy]:
    yield from same_results.list_rewrites(text, line)
    if "_hook(" in text:
        yield _LATE_HOOKS
    if "torch.compile(" in text:
        for way in failing.kept_modules():
            yield replace(way, backend="inductor", compared=True)


def find_remedy(agreement: Agreement, runner: TrialRunner) -> Agreement:
    """Return the agreement; its `way` is the first tried change of a line that makes the results
    equal. A changed line is preferred to a backend without kernels. If an option already helps, no
    line is searched for.
    """
    if agreement.verdict != DIFFERS or (agreement.way and "backend=" not in agreement.way):
        return agreement
    line = agreement.line.line if agreement.line else 0
    for remedy in remedies(failing.read_file(runner), line):
        if remedy.in_place and not _compiles_something(remedy, runner):
            continue
        result = runner.run(remedy)
        if result is None:
            break
        if result.agrees:
            return replace(agreement, way=remedy.description)
    return agreement


def _compiles_something(remedy: Remedy, runner: TrialRunner) -> bool:
    """Return whether something is compiled with the remedy. If not, the results are eager's own."""
    seen = runner.run(replace(remedy, backend="eager", compared=False))
    return bool(seen and seen.compiles)
