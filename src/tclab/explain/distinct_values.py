"""Find values that each cause a new compile of a function, such as the number of a layer or the
name of a mode.

The recompile reasons do not suffice, because for each cache entry Dynamo names only the first guard
that failed, which is often a guard on another value.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from tclab.compare.identity import readable_source

if TYPE_CHECKING:
    from tclab.capturing import Capture

#: The least number of different values. Any two compiles differ in some value, but three compiles
#: with three different values of one source differ because of it.
_LEAST = 3
# L['self'].layer_idx == 3
_VALUE = re.compile(r"(?P<what>.+) == (?P<value>-?[\w.]+|'.*')$")


def find(capture: Capture) -> dict[str, dict[str, tuple[str, ...]]]:
    """Map each frame to the sources of its values, as a reader writes them, and each source to its
    different values. A source counts if it has at least half as many values as the frame has
    compiles, because a compile with gradients and one without have the same value.
    """
    by_frame: dict[str, list[dict[str, str]]] = defaultdict(list)
    for guards in capture.guards:
        checks = (guard.checks[0] for guard in guards if guard.checks)
        matches = filter(None, (_VALUE.match(readable_source(check)) for check in checks))
        by_frame[guards.compile_id.split("/")[0]].append({m["what"]: m["value"] for m in matches})
    return {
        frame: found
        for frame, compiles in by_frame.items()
        if len(compiles) >= _LEAST and (found := _collect_distinct(compiles))
    }


def _collect_distinct(compiles: list[dict[str, str]]) -> dict[str, tuple[str, ...]]:
    sources = set.intersection(*map(set, compiles))
    values = {
        source: tuple(dict.fromkeys(each[source] for each in compiles))
        for source in sorted(sources)
    }
    least = max(_LEAST, len(compiles) / 2)
    return {source: every for source, every in values.items() if len(every) >= least}
