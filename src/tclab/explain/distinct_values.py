"""Values for each of which a function is compiled anew: the number of a layer, the name of a mode.

Dynamo names for a recompile the guard of each entry that failed first, which is often another one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from tclab.compare.identity import readable_source

if TYPE_CHECKING:
    from tclab.capturing import Capture

#: Two compiles differ in something in any case; three with three values do so for its sake.
_LEAST = 3
# L['self'].layer_idx == 3
_VALUE = re.compile(r"(?P<what>.+) == (?P<value>-?[\w.]+|'.*')$")


def find(capture: Capture) -> dict[str, dict[str, tuple[str, ...]]]:
    """Frame → source, as a reader writes it → its different values, where there is another one in
    every compile of that frame, or in every second: one with gradients and one without.
    """
    by_frame: dict[str, list[dict[str, str]]] = defaultdict(list)
    for guards in capture.guards:
        checks = (guard.checks[0] for guard in guards if guard.checks)
        matches = filter(None, (_VALUE.match(readable_source(check)) for check in checks))
        by_frame[guards.compile_id.split("/")[0]].append({m["what"]: m["value"] for m in matches})
    return {
        frame: found
        for frame, compiles in by_frame.items()
        if len(compiles) >= _LEAST and (found := _distinct(compiles))
    }


def _distinct(compiles: list[dict[str, str]]) -> dict[str, tuple[str, ...]]:
    sources = set.intersection(*map(set, compiles))
    values = {
        source: tuple(dict.fromkeys(each[source] for each in compiles))
        for source in sorted(sources)
    }
    least = max(_LEAST, len(compiles) / 2)
    return {source: every for source, every in values.items() if len(every) >= least}
