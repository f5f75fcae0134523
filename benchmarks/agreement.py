"""Compare compiled results with eager's over many functions: the differences, and the cost.

``PYTHONPATH=src python -m benchmarks.agreement functions [--out FILE] [--seconds N] [NAME …]``
compiles each function of a corpus for the CPU and holds it against eager, as `tclab explain` does:

- ``functions`` and ``models``: the catalogue, by `explain`, with the seconds that the comparison
  adds to it;
- ``operators``: PyTorch's own operator database (it needs the package expecttest), the first sample
  of each operator in float32, by torch.compile alone, in a random order that is the same for every
  PyTorch: what a run compares before its time is over is a sample;
- ``mixed``: random programs in float32, bfloat16 and float16 (`benchmarks.mixed_programs`).

Each line of the output is one function, or several operators that were compiled together and are
all equal: the names, the verdict in words, the differences, seconds.
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
_TOGETHER = 32
#: Compiles of random programs.
_PROGRAMS = 60


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
    """Yield each operator of PyTorch's database: several in one compile, and each alone that breaks
    a graph or is not equal there.
    """
    from torch.testing._internal.common_methods_invocations import op_db

    shuffled = sorted(
        (info for info in op_db if _has_float32(info)),
        key=lambda info: random.Random(info.formatted_name).random(),
    )
    for at in range(0, len(shuffled), _TOGETHER):
        group = shuffled[at : at + _TOGETHER]
        whole = [info for info in group if _in_one_graph(info)]
        yield from _halved(whole)
        for info in group:
            if info not in whole:
                yield from _halved([info])


def mixed() -> Iterator[Case]:
    """Random programs in several types."""
    from benchmarks.mixed_programs import programs
    from tclab.capturing.agreement import Comparison

    for name, fn, inputs in programs(_PROGRAMS):
        started = Comparison.begin(fn, [(inputs, {})], False)
        assert not isinstance(started, str), started
        yield name, lambda started=started: _row(started.judge_new_compile({}))


def _halved(infos: list[Any]) -> Iterator[Case]:
    """Yield operators together if they are equal together, and alone those that are not. If the
    compile of all together raises, each half is tried.
    """
    if len(infos) < 2:
        if not infos:
            return
        yield infos[0].formatted_name, lambda: _row(_begun(infos).judge_new_compile({}))
        return
    since = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = _unequal(infos)
    except Exception as error:
        print(f"{len(infos)} operators are halved: {error!s:.200}", file=sys.stderr, flush=True)
        middle = len(infos) // 2
        yield from _halved(infos[:middle])
        yield from _halved(infos[middle:])
        return
    equal = [info.formatted_name for info in infos if info not in alone]
    row = {"verdict": "equal", "words": "equal to eager", "seconds": time.perf_counter() - since}
    yield " ".join(equal), lambda: row
    for info in alone:
        yield from _halved([info])


def _in_one_graph(info: Any) -> bool:
    """Return whether Dynamo compiles a call of the operator without a graph break."""
    import torch

    torch.compiler.reset()
    try:
        ((op, first, args, kwargs),) = _calls([info])
        torch.compile(op, backend="eager", fullgraph=True)(first, *args, **kwargs)
    except Exception:
        return False
    return True


def _has_float32(info: Any) -> bool:
    import torch

    return torch.float32 in info.supported_dtypes("cpu")


def _unequal(infos: list[Any]) -> list[Any]:
    """Compile all operators in one function, and return those with a result that differs from
    eager's. What a call or the compile raises is raised.
    """
    from tclab.capturing.agreement.judge import compare_observations
    from tclab.capturing.torch_private.compiler import nested_leaves

    comparison = _begun(infos)
    eager = comparison.eager()
    compiled = comparison.compiled({"fullgraph": True})
    for each in (eager, compiled):
        if each.error:
            raise each.error
    found = compare_observations(eager, compiled)
    if found.differences:
        found = compare_observations(eager, compiled, comparison.reference(2))
    outputs = [
        info
        for info, (op, first, args, kwargs) in zip(infos, _calls(infos))
        for _ in nested_leaves(op(first, *args, **kwargs))
    ]
    numbers = [each.where.removeprefix("output ") for each in found.differences]
    if not all(each.isdigit() for each in numbers):
        raise ValueError(f"{found.differences[0]}")
    return list({id(info): info for info in (outputs[int(each)] for each in numbers)}.values())


def _begun(infos: list[Any]) -> Any:
    """Begin a comparison of one call of each operator, all in one function."""
    from tclab.capturing.agreement import Comparison

    calls = _calls(infos)

    def together(*inputs: tuple[Any, Any, dict[str, Any]]) -> list[Any]:
        return [
            op(first, *args, **kwargs) for (op, *_), (first, args, kwargs) in zip(calls, inputs)
        ]

    arguments = tuple((first, args, kwargs) for _, first, args, kwargs in calls)
    started = Comparison.begin(together, [(arguments, {})], False)
    if isinstance(started, str):
        raise TypeError(started)
    return started


def _calls(infos: list[Any]) -> list[tuple[Any, Any, Any, dict[str, Any]]]:
    """Return for each operator its function and the arguments of its first sample."""
    import torch

    torch.manual_seed(0)
    samples = [
        next(iter(each.sample_inputs("cpu", torch.float32, requires_grad=each.supports_autograd)))
        for each in infos
    ]
    return [(each.op, sample.input, sample.args, sample.kwargs)
            for each, sample in zip(infos, samples)]  # fmt: skip


def _row(agreement: Any) -> dict[str, Any]:
    differences = [f"{each} [{each.eager} | {each.compiled}]" for each in agreement.differences]
    return {"verdict": agreement.verdict, "words": str(agreement), "differences": differences,
            "next": agreement.next_step}  # fmt: skip


def _one(case: Case) -> dict[str, Any]:
    name, compare = case
    since = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            row = compare()
            return {"name": name, "seconds": time.perf_counter() - since} | row
        except Exception as error:
            return {
                "name": name,
                "verdict": "error",
                "words": f"{type(error).__name__}: {error}"[:300],
            }


def main() -> None:
    """Compare a corpus, a line for each function, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", choices=["functions", "models", "operators", "mixed"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", default="0/1", help="which of how many parts: 0/8")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    asked = parser.parse_args()
    until = time.monotonic() + asked.seconds
    made = {"operators": operators, "mixed": mixed}.get(asked.corpus)
    cases = made() if made else catalogue(asked.corpus)
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
    verdicts = [row["verdict"] for row in rows for _ in row["name"].split()]
    print({each: verdicts.count(each) for each in dict.fromkeys(verdicts)}, file=sys.stderr)
    shares = [row["added"] / row["seconds"] for row in rows if row.get("added")]
    if shares:
        print(f"added: {statistics.median(shares):.1%} on median", file=sys.stderr)


if __name__ == "__main__":
    main()
