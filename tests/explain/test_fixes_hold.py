"""Each fix that a report on the gallery or on a case states as tried removes what it says; others
say that they are not tried.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from benchmarks import case_fixes
from benchmarks.case_fixes import FixedProgram, count_statements, explain_fixes
from benchmarks.case_symptoms import Program, has_symptom
from benchmarks.cases import cases
from tclab.capturing import capture
from tclab.capturing.torch_private import compiler
from tclab.explain.trials import breaks
from tclab.explain.trials.attempt import summarize
from tclab.explain.trials.remedy import Remedy, TrialResult
from tests.gallery import TOPICS, causes_of
from tests.nightly import one_in

# … torch._dynamo.config.capture_scalar_outputs = True … Tried: 2 graph breaks become 1.
_TRIED = re.compile(
    r"config\.(?P<name>\w+).* Tried: (?P<before>\d+) graph breaks? becomes? (?P<after>\d+)\."
)
_PRINTS = "reorderable_logging_functions"


class Here:
    """Tries settings on one function, in this process."""

    request = None  # it is in no file that can be changed

    def __init__(self, fn: Callable[..., Any], x: torch.Tensor) -> None:
        self.fn, self.x = fn, x

    def run(self, remedy: Remedy) -> TrialResult:
        """What a trial sees that runs in a process of its own."""
        try:
            return summarize(self.captured(remedy.settings))
        except Exception as error:
            return TrialResult(error=str(error))

    def captured(self, settings: Any = None) -> Any:
        random.seed(0)
        with compiler.dynamo_settings(settings or {}):
            return capture(self.fn, backend="eager")(self.x.clone())


@pytest.mark.parametrize("topic", one_in(2, TOPICS))
def test_what_is_said_of_the_gallery(topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    functions, x = causes_of(topic, monkeypatch)
    hints = 0
    for broken, _ in functions:
        here: Any = Here(broken, x)
        before = here.captured().breaks
        for item in breaks.try_hints(before, {}, here):
            for hint in item.hints:
                hints += 1
                if hint.endswith(breaks.NOT_TRIED):
                    assert breaks.SETTING.search(hint) is None and _PRINTS not in hint, hint
                    continue
                said = _TRIED.search(hint)
                assert said is not None, hint
                value = {print} if said["name"] == _PRINTS else True
                after = here.captured({said["name"]: value}).breaks
                assert (len(before), len(after)) == (int(said["before"]), int(said["after"]))
                assert len(after) < len(before)
    assert hints


@pytest.mark.parametrize("cause", ["", ": Inductor's fusion is at fault, and not your code"])
def test_a_fix_is_found_with_what_is_at_fault_behind_it(cause: str) -> None:
    (fix, other) = Remedy("compile without fusion"), Remedy("compile nothing")
    screen = f"next: compile without fusion{cause}. Tried: it\ncompiles; compile nothing helps not"
    assert [*case_fixes._find_remedies(screen, [fix, other])] == [fix]
    assert count_statements(screen) == 1


#: A case for each way to apply a fix: another line, another argument and a setting, and a module
#: compiled in place. ``python -m benchmarks.cases --fixes`` asks all cases.
ASKED = ("beam_reorder", "clip_by_layer", "checkpoint_orig_mod")


@pytest.mark.parametrize("name", one_in(3, ASKED))
def test_what_is_said_of_a_case(name: str) -> None:
    """PyTorch alone is asked whether the fault is there, and whether it is gone with the fix."""
    (case,) = cases([name])
    shows, seen = has_symptom(Program(case))
    if not shows:
        pytest.skip(f"PyTorch {torch.__version__} has not the fault: {seen}")
    screen, fixes = explain_fixes(case)
    assert fixes and len(fixes) == count_statements(screen), screen
    for fix in fixes:
        stays, seen = has_symptom(FixedProgram(case, fix))
        assert not stays, (fix.description, seen)
