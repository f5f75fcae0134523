"""Compare compiled results with eager's over many functions: the differences, and the cost.

``PYTHONPATH=src python -m benchmarks.agreement functions [--out FILE] [--seconds N] [NAME …]``
compiles each function of a corpus for the CPU and holds it against eager, as `tclab explain` does:

- ``functions`` and ``models``: the catalogue, by `explain`, with the seconds that the comparison
  adds to it;
- ``operators``: PyTorch's own operator database (it needs the package expecttest), by torch.compile
  alone: three samples of each operator in five types, forward and backward;
- ``mixed``: random programs in float32, bfloat16 and float16 (`benchmarks.mixed_programs`).

Each line of the output is one function: its name, the verdict in words, the differences, seconds.
What the file of ``--out`` holds already is not compared again. Each function of the catalogue or
of the operators has a process of its own (`benchmarks.forked`).
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import forked

#: One function: its name, and a function that compares it and returns a row.
Case = tuple[str, Callable[[], dict[str, Any]]]
#: Compiles of random programs.
_PROGRAMS = 60


def compare_catalogue(corpus: str, name: str) -> dict[str, Any]:
    """Compare an example of the catalogue."""
    from tclab.workshop import catalog

    return compare_case((name, lambda: _explained(catalog.find(name, corpus))))


def operators() -> list[str]:
    """Return the names of the operators' samples, such as ``operators/add-float32-0``. Their order
    is random and the same for every PyTorch, so that what is compared before the time is over is a
    fair sample.
    """
    from tclab.workshop.catalog import operators

    return sorted(operators.list_cpu_names(), key=lambda name: random.Random(name).random())


def compare_operator(name: str) -> dict[str, Any] | None:
    """Compare a sample of an operator; None if the operator has fewer samples."""
    from tclab.workshop.catalog import operators

    example = operators.find_on_cpu(name)
    return None if example is None else compare_case((name, lambda: _compared(example)))


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


def mixed() -> Iterator[Case]:
    """Random programs in several types."""
    from benchmarks.mixed_programs import programs
    from tclab.capturing.agreement import Comparison

    for name, fn, inputs in programs(_PROGRAMS):
        started = Comparison.begin(fn, [(inputs, {})], False)
        assert not isinstance(started, str), started
        yield name, lambda started=started: _row(started.judge_new_compile({}))


def _row(agreement: Any) -> dict[str, Any]:
    differences = [f"{each} [{each.eager} | {each.compiled}]" for each in agreement.differences]
    row = {"verdict": agreement.verdict, "words": str(agreement), "differences": differences}
    return row | {"next": agreement.next_step}


def compare_case(case: Case) -> dict[str, Any]:
    """Compare one function; return its row. An error becomes the row's verdict."""
    name, compare = case
    since = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            row = compare()
        except Exception as error:
            row = {"verdict": "error", "words": f"{type(error).__name__}: {error}"[:300]}
    return {"name": name, "seconds": time.perf_counter() - since} | row


def _compared(example: Any) -> dict[str, Any]:
    """Compare the call of an example, compiled on its own, with eager's; return the verdict."""
    from tclab.capturing.agreement import Comparison

    fn, args = example.make()
    started = Comparison.begin(fn, [(args, {})], example.backward)
    if isinstance(started, str):
        return {"verdict": "not compared", "words": started}
    return _row(started.judge_new_compile({}))


def main() -> None:
    """Compare a corpus, a line for each function, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", choices=["functions", "models", "operators", "mixed"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", default="0/1", help="which of how many parts: 0/8")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=1, help="functions compared at one time")
    parser.add_argument("--each", type=int, default=120, help="the most seconds of one")
    asked = parser.parse_intermixed_args()
    until = time.monotonic() + asked.seconds
    rows = []
    for row in _rows(asked, until):
        rows.append(row)
        line = json.dumps(row)
        print(line, flush=True)
        if asked.out:
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
    _print_counts(rows)


def _rows(asked: argparse.Namespace, until: float) -> Iterator[dict[str, Any]]:
    """Compare what is asked for and not compared yet, until the time is over; yield the rows."""
    part, parts = map(int, asked.part.split("/"))
    kept = asked.out.read_text().splitlines() if asked.out and asked.out.exists() else []
    done = {json.loads(line)["name"] for line in kept}

    def is_asked(name: str) -> bool:
        return name not in done and (not asked.names or name in asked.names)

    if asked.corpus == "mixed":
        for number, case in enumerate(mixed()):
            if number % parts == part and is_asked(case[0]) and time.monotonic() < until:
                yield compare_case(case)
        return
    from tclab.workshop import catalog

    how: tuple[Sequence[str], forked.Compare] = (
        (operators(), compare_operator)
        if asked.corpus == "operators"
        else (
            list(catalog.examples(asked.corpus)),
            functools.partial(compare_catalogue, asked.corpus),
        )
    )
    names = [each for each in how[0][part::parts] if is_asked(each)]
    yield from forked.rows(names, how[1], asked.jobs, asked.each, until)


def _print_counts(rows: list[dict[str, Any]]) -> None:
    counts = Counter(row["verdict"] for row in rows)
    print(dict(counts), file=sys.stderr)
    shares = [row["added"] / row["seconds"] for row in rows if row.get("added")]
    if shares:
        print(f"added: {statistics.median(shares):.1%} on median", file=sys.stderr)


if __name__ == "__main__":
    main()
