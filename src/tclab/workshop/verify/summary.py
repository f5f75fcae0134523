"""Shorten a report by leaving out the text of differences, so that the report is small enough to be
committed. The samples of one operator become one row.

python -m tclab.workshop.verify.summary REPORT.json records/h200-torch2.11/whole_models.json
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
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
    return _describe_run(report, day) | {
        "models": [_shorten_row(row) for row in report["functions"]]
    }


def summarize_operators(report: ComparisonReport, day: str) -> dict[str, Any]:
    """Return the report's data with a row for each operator: its samples, their verdicts, the
    counts of kernels, and the first reason why a kernel is open or refused.
    """
    groups = groupby(report["functions"], key=_get_operator)
    merged = [_merge_samples(name, list(rows)) for name, rows in groups]
    return _describe_run(report, day) | {"operators": merged}


def _describe_run(report: ComparisonReport, day: str) -> dict[str, Any]:
    return {"environment": report["environment"], "recorded": day, "seconds": report["seconds"]}


def _get_operator(row: FunctionRow) -> str:
    return row["name"].removeprefix("operators/").rsplit("-", 2)[0]  # operators/add-float32-0


def _merge_samples(operator: str, rows: list[FunctionRow]) -> dict[str, object]:
    def total(*counts: results.Count) -> int:
        return sum(row[count] for row in rows for count in counts)

    merged: dict[str, object] = {"operator": operator, "samples": len(rows)}
    merged["verdicts"] = dict(Counter(row["verdict"] for row in rows))
    merged |= {"kernels": total("kernels"), "identical": total("identical")}
    merged |= {"open": total("measured", "either")}
    merged |= {"different": total("different"), "refused": total("refused")}
    return merged | {"why": _find_reason(rows)}


def _find_reason(rows: Iterable[FunctionRow]) -> str:
    """Return the first reason why a sample is open or refused, without its line and next step."""
    verdicts = ("open", "refused", "gpu refused")
    first = next((row["reason"] for row in rows if row["verdict"] in verdicts), "")
    without_line = re.sub(r"^\S+\.py:\d+: |, \S+\.py:\d+ [^\n]*", "", first.strip())
    return without_line.partition("\n")[0][:_LONGEST]


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
    report = results.read_report(path)
    is_database = report["functions"][0]["name"].startswith("operators/")
    shorten, key = (summarize_operators, "operators") if is_database else (summarize, "models")
    head = shorten(report, day.date().isoformat())
    rows = ",\n".join(json.dumps(row) for row in head.pop(key))
    out.write_text(f'{json.dumps(head)[:-1]}, "{key}": [\n{rows}\n]}}\n', encoding="utf-8")
    checksums.write(out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
