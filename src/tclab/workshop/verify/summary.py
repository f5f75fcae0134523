"""Shorten a report by leaving out the text of differences, so that the report is small enough to be
committed.

python -m tclab.workshop.verify.summary REPORT.json records/h200-torch2.11/whole_models.json
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tclab.site.store import checksums
from tclab.workshop.verify import results
from tclab.workshop.verify.results import COUNTS, ComparisonReport, FunctionRow

# RuntimeError: Unhandled FakeTensor Device Propagation for aten.add.Tensor, found two …
_ERROR = re.compile(r"(?:[\w.]+\.)?(\w+(?:Error|Exception)\b[:(].*)")
_LONGEST = 120


def summarize(report: ComparisonReport, day: str) -> dict[str, Any]:
    """Return the report's data with a short row for each model: counts, verdict and cause."""
    head = {"environment": report["environment"], "recorded": day, "seconds": report["seconds"]}
    return head | {"models": [_shorten_row(row) for row in report["functions"]]}


def _shorten_row(row: FunctionRow) -> dict[str, object]:
    fields: Mapping[str, object] = row
    short = {name: fields[name] for name in ("name", *COUNTS, "verdict", "seconds")}
    return short | {"why": find_cause(row["verdict"], row["reason"])}


def find_cause(verdict: str, reason: str) -> str:
    """Say why two compiles of a model differ: the number of choices that depend on timings on the
    GPU, or the error that ended one of the compiles; '' if only texts differ.
    """
    if timed := reason.count("pad: "):
        return f"{timed} padding{'s' * (timed > 1)} that the GPU times"
    errors = [m[1] for line in reason.splitlines() if (m := _ERROR.search(line))]
    error = errors[-1] if errors and verdict not in ("different", "same kernels") else ""
    return error if len(error) <= _LONGEST else f"{error[:_LONGEST]} …"


def main(path: Path, out: Path) -> None:
    """Write a report's summary with a line for each row. Its date is the date of the report's
    file.
    """
    import datetime as dt

    day = dt.datetime.fromtimestamp(path.stat().st_mtime, dt.timezone.utc)
    head = summarize(results.read_report(path), day.date().isoformat())
    rows = ",\n".join(json.dumps(row) for row in head.pop("models"))
    out.write_text(f'{json.dumps(head)[:-1]}, "models": [\n{rows}\n]}}\n', encoding="utf-8")
    checksums.write(out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
