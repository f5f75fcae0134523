"""Find a copy that does not behave as its original. Eager is called with copies, so such a copy
says nothing about the compile.
"""

from __future__ import annotations

from tclab.capturing.agreement import runs
from tclab.capturing.agreement.judge import NO_REFERENCE, compare_observations
from tclab.capturing.agreement.observed import Observation
from tclab.capturing.agreement.repeats import Repeats
from tclab.capturing.agreement.setups import Setup
from tclab.model import Difference


def describe_unlike_copy(calls: Repeats) -> str:
    """Make the calls in eager with the objects of the capture and with a copy of them, both as the
    capture left them. Return what is otherwise with the copy; '' if nothing is. The objects of the
    capture are changed by this.
    """
    try:
        copied = calls.setup.copy()
    except Exception:  # the calls have left something that cannot be copied
        return ""
    sides = calls.setup, copied
    before = {each.where for each in _compare(*map(_observe_state, sides))}
    by_original, by_copy = (
        runs.run_eager(each, calls.process_state, calls.backward) for each in sides
    )
    new = [each for each in _compare(by_original, by_copy) if each.where not in before]
    if not new:
        return ""
    first = new[0]
    if first.what == "exception":
        raised = f"raises {first.compiled}" if by_copy.error else "raises nothing"
        what = f"it {raised}" + (f", the original {first.eager}" if by_original.error else "")
    elif first.what == "values":
        what = f"{first.where} is {first.compiled} with the copy, {first.eager} with the original"
    else:
        what = f"{first.what} of {first.where}: {first.compiled}, with the original {first.eager}"
    names = " and ".join(calls.setup.object_names())
    return f"a copy of {names}, with which eager is called, does not behave as the original: {what}"


def _observe_state(setup: Setup) -> Observation:
    observed = Observation()
    observed.add_state(setup)
    return observed


def _compare(original: Observation, copied: Observation) -> list[Difference]:
    return compare_observations(original, copied, NO_REFERENCE).differences
