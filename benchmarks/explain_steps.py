"""Print the seconds of each step of one explanation, as JSON on the last line: ``FILE.py:NAME
TARGET``.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise

BEGUN = time.perf_counter()


def main(spec: str, target: str) -> None:
    """Explain, and print when each step began."""
    from tclab.explain import ExplainRequest, Step, explain_named
    from tclab.render.report import document

    begun: list[tuple[str, float]] = [("importing tclab", BEGUN)]

    def on_step(step: Step) -> None:
        if step.work != begun[-1][0]:
            begun.append((step.work, time.perf_counter()))

    request = ExplainRequest.parse(spec, target=target or None)
    report = explain_named(request, on_step=on_step)
    on_step(Step("rendering"))
    document.html(report)
    ends = [*begun, ("", time.perf_counter())]
    print(json.dumps({step: round(end - at, 2) for (step, at), (_, end) in pairwise(ends)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
