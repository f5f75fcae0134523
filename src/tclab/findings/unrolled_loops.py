"""Define the rule on loops of Python that Dynamo unrolls."""

from __future__ import annotations

from collections.abc import Iterator

from tclab.findings.evidence import Evidence, UnrolledLoop
from tclab.model import NOT_KNOWN, Cost, Finding, format_seconds

#: The fewest rounds and operators of a loop for a finding, and the least share of its graph. They
#: are counted, and not timed, so that a function has the same findings on every machine.
_FEWEST_ROUNDS, _FEWEST_OPERATORS, _LEAST_SHARE = 10, 100, 0.5

_COMPILE_A_ROUND = (
    "Move what one round does into a function, compile that, and leave the loop to Python: one "
    "compile serves all rounds, and each round is a call of its own. (Not tried.)"
)
_KEEP_THE_LOOP = "torch.while_loop keeps the loop, and compiles one round. (Not tried.)"


def find_unrolled_loops(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each loop whose rounds are most of a graph; a graph that was compiled
    again has no second finding.
    """
    first: dict[str, UnrolledLoop] = {}
    for loop in evidence.loops:
        if _is_dear(loop):
            first.setdefault(str(loop.line), loop)
    for loop in first.values():
        seconds = evidence.seconds_of.get(loop.compile_id, 0.0)
        took = f". The graph took {format_seconds(seconds)} to compile" if seconds else ""
        yield Finding(
            "unrolled-loop",
            f"{loop.operators} of the {loop.all_operators} operators of a graph are rounds of this "
            f"loop: most of them were traced {loop.times} times{took}",
            (loop.line,),
            Cost(seconds, "s once", "measured") if seconds else NOT_KNOWN,
            (_COMPILE_A_ROUND, _KEEP_THE_LOOP),
        )


def _is_dear(loop: UnrolledLoop) -> bool:
    return loop.times >= _FEWEST_ROUNDS and loop.operators >= max(
        _FEWEST_OPERATORS, _LEAST_SHARE * loop.all_operators
    )


RULES = (find_unrolled_loops,)
