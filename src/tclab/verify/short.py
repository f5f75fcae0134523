"""A report without the differences it found: small enough to be kept beside the project.

python -m tclab.verify.short REPORT.json > records/h200-torch2.11/whole_models.json
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tclab.verify.verdict import COUNTS

# RuntimeError: Unhandled FakeTensor Device Propagation for aten.add.Tensor, found two …
_ERROR = re.compile(r"(?:[\w.]+\.)?(\w+(?:Error|Exception)\b[:(].*)")
_LONGEST = 120


def short(report: dict[str, Any], day: str) -> dict[str, Any]:
    """The report of `compare_all`: a row a model, with its counts, verdict and cause."""
    kept = ("name", *COUNTS, "verdict", "seconds")
    rows = [{k: row[k] for k in kept} | {"why": why(row)} for row in report["functions"]]
    head = {"environment": report["environment"], "recorded": day, "seconds": report["seconds"]}
    return head | {"models": rows}


def why(row: dict[str, Any]) -> str:
    """What the GPU times, or the error that ended a side; '' for a difference of text."""
    reason = row.get("reason") or ""
    if timed := reason.count("pad: "):
        return f"{timed} padding{'s' * (timed > 1)} that the GPU times"
    errors = [m[1] for line in reason.splitlines() if (m := _ERROR.search(line))]
    told = errors[-1] if errors and row["verdict"] not in ("different", "same kernels") else ""
    return told if len(told) <= _LONGEST else f"{told[:_LONGEST]} …"


def main(path: Path) -> None:
    """Print the short form of a report, a row a line, dated by its file."""
    import datetime as dt

    day = dt.datetime.fromtimestamp(path.stat().st_mtime, dt.timezone.utc)
    told = short(json.loads(path.read_text(encoding="utf-8")), day.date().isoformat())
    rows = ",\n".join(json.dumps(row) for row in told.pop("models"))
    sys.stdout.write(f'{json.dumps(told)[:-1]}, "models": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main(Path(sys.argv[1]))
