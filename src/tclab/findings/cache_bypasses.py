"""Define the rule on graphs that a cache does not keep."""

from __future__ import annotations

from collections.abc import Iterator

from tclab.findings.evidence import Evidence
from tclab.findings.words import join_few
from tclab.model import NOT_KNOWN, Cost, Finding

_MOST_PLACES = 3
#: Whether Inductor's cache is bypassed → the beginnings of the names of the phases that each start
#: has again. What AOTAutograd's cache bypasses, Inductor's still keeps.
_PHASES_AGAIN = {
    False: ("AOTAutograd", "Inductor: joint-graph passes"),
    True: ("AOTAutograd", "Inductor"),
}


def find_bypasses(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if a cache cannot keep a graph, so that each start of the program does again
    what this cache saves. Dynamo runs at each start in any case, and the compilers of the kernels
    have caches of their own.
    """
    passed = [each for each in evidence.cachings if each.state == "bypass"]
    if passed:
        times = evidence.compile_time
        graphs = len({each.compile_id for each in passed})
        again = _PHASES_AGAIN[any(each.cache == "Inductor" for each in passed)]
        all_seconds = sum(phase.seconds for phase in times.phases if phase.name.startswith(again))
        seconds = all_seconds * graphs / max(times.compiles, graphs)
        yield Finding(
            "cache-bypass",
            join_few([*dict.fromkeys(map(str, passed))]),
            tuple(dict.fromkeys(each.line for each in passed if each.line))[:_MOST_PLACES],
            Cost(seconds, "s each start", "measured") if seconds else NOT_KNOWN,
        )


RULES = (find_bypasses,)
