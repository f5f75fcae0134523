"""Find code that asks whether it is compiled and then does something else: the compiled results
differ because the code says so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import torch

from tclab.capturing.agreement.judge import NO_REFERENCE, compare_observations
from tclab.capturing.agreement.observed import Observation
from tclab.capturing.agreement.repeats import Repeats
from tclab.model import DIFFERS, EQUAL, OWN_BRANCH, Agreement, Difference, SourceLine
from tclab.text import user_lines
from tclab.text.scrub import scrub

_QUESTIONS = (torch.compiler.is_compiling, torch.compiler.is_dynamo_compiling)


def explain(
    calls: Repeats, differences: Sequence[Difference], eager: Observation, compiled: Observation
) -> Agreement | None:
    """Return the verdict if each value that differs is what eager computes where the code is told
    that it is compiled; None if the compiler makes a difference.
    """
    lines: list[SourceLine] = []
    told = calls.eager(_saying_that_it_compiles(lines))
    own, others = (
        {each.where for each in compare_observations(told, side, NO_REFERENCE).differences}
        for side in (eager, compiled)
    )
    places = {each.where for each in differences}
    if not lines or not places <= own or places & others:
        return None
    line = lines[0] if len(set(lines)) == 1 else None
    if places & {*compiled.results, *told.results} or told.error or compiled.error:
        return Agreement(DIFFERS, differences=tuple(differences), stage=OWN_BRANCH, line=line)
    more = f" and {len(places) - 1} more values" if len(places) > 1 else ""
    at = f": {lines[0]}" + (" is the first line that asks" if line is None else "")
    reason = (
        f"but for {differences[0].where}{more}, which the code itself leaves otherwise where "
        f"torch.compiler.is_compiling() is True{at}"
    )
    return Agreement(EQUAL, reason=reason)


@contextmanager
def _saying_that_it_compiles(lines: list[SourceLine]) -> Iterator[None]:
    """During the block, let PyTorch's functions that say whether code is compiled say yes. Append
    each line of code outside PyTorch that asks to `lines`.
    """

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is _yes.__code__ and (line := _find_line(frame)):
            lines.append(line)

    profile, answers = sys.getprofile(), [each.__code__ for each in _QUESTIONS]
    try:
        for each in _QUESTIONS:  # the code is replaced, as the user's modules have the functions
            each.__code__ = _yes.__code__
        sys.setprofile(watch)
        yield
    finally:
        sys.setprofile(profile)
        for each, answer in zip(_QUESTIONS, answers):
            each.__code__ = answer


def _yes() -> bool:
    return True


def _find_line(frame: FrameType) -> SourceLine | None:
    """Return the line that asks. A function that only passes the question on is no answer; None if
    PyTorch asks.
    """
    asks = {question.__name__ for question in _QUESTIONS}
    at = frame.f_back
    while at is not None and at.f_code.co_name in asks:
        at = at.f_back
    if at is None or not user_lines.is_user_file(at.f_code.co_filename):
        return None
    return SourceLine(scrub(at.f_code.co_filename), at.f_lineno, "", at.f_code.co_name)
