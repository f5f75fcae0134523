"""Compare compiled results with eager's over many functions: the differences, and the cost.

``PYTHONPATH=src python -m benchmarks.agreement functions [--out FILE] [--seconds N] [NAME …]``
compiles each function of a corpus for the CPU and holds it against eager, as `tclab explain` does:

- ``functions`` and ``models``: the catalogue, by `explain`, with the seconds that the comparison
  adds to it;
- ``operators``: PyTorch's own operator database (it needs the package expecttest), the first sample
  of each operator in float32, by torch.compile alone, in a fixed random order: what a run compares
  before its time is over is a sample.

Each line of the output is one function: its name, the verdict in words, the differences, seconds.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: One function: its name, and a function that compares it and returns a row.
Case = tuple[str, Callable[[], dict[str, Any]]]
#: Operators in one compile.
_TOGETHER = 12


def catalogue(corpus: str) -> Iterator[Case]:
    """The examples of the catalogue."""
    from tclab.workshop import catalog

    for name, each in catalog.examples(corpus).items():
        yield name, lambda each=each: _explained(each)


def _explained(example: Any) -> dict[str, Any]:
    """Explain one example; return its agreement, and the seconds without and for the comparison."""
    from tclab.capturing.agreement import Comparison
    from tclab.explain import explain

    fn, args = example.make()
    spent: list[float] = []
    begin, agreement = Comparison.begin, Comparison.agreement
    Comparison.begin = _timed(begin, spent)  # type: ignore[method-assign]
    Comparison.agreement = _timed(agreement, spent)  # type: ignore[method-assign]
    since = time.perf_counter()
    try:
        report = explain(fn, [args], backward=example.backward, **example.options)
    finally:
        Comparison.begin, Comparison.agreement = begin, agreement  # type: ignore[method-assign]
    total = time.perf_counter() - since
    return _row(report.agreement) | {"seconds": total - sum(spent), "added": sum(spent)}


def _timed(call: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        since = time.perf_counter()
        try:
            return call(*args, **kwargs)
        finally:
            spent.append(time.perf_counter() - since)

    return timed


def operators() -> Iterator[Case]:
    """Yield each operator of PyTorch's database, in a fixed random order: several in one compile,
    and each alone if their results are not all equal.
    """
    from torch.testing._internal.common_methods_invocations import op_db

    shuffled = [info for info in op_db if _has_float32(info)]
    random.Random(0).shuffle(shuffled)
    for at in range(0, len(shuffled), _TOGETHER):
        group = shuffled[at : at + _TOGETHER]
        names = " ".join(info.formatted_name for info in group)
        row = _one((names, lambda group=group: _operators(group, fullgraph=True)))
        if row["verdict"] == "equal":
            yield names, lambda row=row: row
            continue
        for info in group:
            yield info.formatted_name, lambda info=info: _operators([info])


def _has_float32(info: Any) -> bool:
    import torch

    return torch.float32 in info.supported_dtypes("cpu")


def _operators(infos: list[Any], *, fullgraph: bool = False) -> dict[str, Any]:
    import torch

    from tclab.capturing.agreement import Comparison

    torch.manual_seed(0)
    samples = [
        next(iter(each.sample_inputs("cpu", torch.float32, requires_grad=each.supports_autograd)))
        for each in infos
    ]
    calls = [(each.op, sample.input, sample.args, sample.kwargs)
             for each, sample in zip(infos, samples)]  # fmt: skip

    def together(*inputs: tuple[Any, Any, dict[str, Any]]) -> list[Any]:
        return [
            op(first, *args, **kwargs) for (op, *_), (first, args, kwargs) in zip(calls, inputs)
        ]

    since = time.perf_counter()
    arguments = tuple((first, args, kwargs) for _, first, args, kwargs in calls)
    started = Comparison.begin(together, [(arguments, {})], False)
    if isinstance(started, str):
        return {"verdict": "not compared", "words": started}
    return _row(started.judge_new_compile({"fullgraph": fullgraph})) | {
        "seconds": time.perf_counter() - since
    }


def _row(agreement: Any) -> dict[str, Any]:
    differences = [f"{each} [{each.eager} | {each.compiled}]" for each in agreement.differences]
    return {"verdict": agreement.verdict, "words": str(agreement), "differences": differences,
            "next": agreement.next_step}  # fmt: skip


def _one(case: Case) -> dict[str, Any]:
    name, compare = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return {"name": name} | compare()
        except Exception as error:
            return {
                "name": name,
                "verdict": "error",
                "words": f"{type(error).__name__}: {error}"[:300],
            }


def main() -> None:
    """Compare a corpus, a line for each function, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", choices=["functions", "models", "operators"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", default="0/1", help="which of how many parts: 0/8")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    asked = parser.parse_args()
    until = time.monotonic() + asked.seconds
    cases = operators() if asked.corpus == "operators" else catalogue(asked.corpus)
    part, parts = map(int, asked.part.split("/"))
    rows = []
    for number, case in enumerate(cases):
        if number % parts != part:
            continue
        if time.monotonic() > until:
            break
        if asked.names and case[0] not in asked.names:
            continue
        rows.append(_one(case))
        line = json.dumps(rows[-1])
        print(line, flush=True)
        if asked.out:
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
    _print_counts(rows)


def _print_counts(rows: list[dict[str, Any]]) -> None:
    verdicts = [row["verdict"] for row in rows]
    print({each: verdicts.count(each) for each in dict.fromkeys(verdicts)}, file=sys.stderr)
    shares = [row["added"] / row["seconds"] for row in rows if row.get("added")]
    if shares:
        print(f"added: {statistics.median(shares):.1%} on median", file=sys.stderr)


if __name__ == "__main__":
    main()
