"""Whether the kernels of both sides are the same, function by function."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tclab.verify.results import FunctionRow, Result

Kernel = tuple[str, str]  # name and source of a Triton kernel


def compare(name: str, gpu: Result, target: Result) -> FunctionRow:
    """One function: how many kernels are identical, one of two, different, refused, and why."""
    row = _empty(name, gpu, target)
    if gpu["status"] != "done":
        return row | {"verdict": f"gpu {gpu['status']}", "reason": gpu["reason"]}
    real = kernels(gpu["wrappers"])
    row["kernels"] = len(real)
    if target["status"] == "done":
        one_answer = not target.get("variants")
        row = _same(row, real, gpu, target) if one_answer else _one_of_two(row, real, target)
        return _with_gaps(row, target["gaps"]) if target.get("gaps") else row
    row["refused" if target["status"] == "refused" else "different"] = len(real)
    return row | {"verdict": target["status"], "reason": target["reason"]}


def _empty(name: str, gpu: Result, target: Result) -> FunctionRow:
    seconds = [gpu.get("seconds"), target.get("seconds")]
    return {
        "name": name,
        "kernels": 0, "identical": 0, "either": 0, "different": 0, "refused": 0,
        "verdict": "", "reason": "", "way": "",
        "seconds": seconds,
    }  # fmt: skip


def _with_gaps(row: FunctionRow, gaps: list[str]) -> FunctionRow:
    """Where part of the function was refused: kernels that are not shown are refused, too."""
    missing = row["different"]
    verdict = "refused in part" if missing else row["verdict"]
    reason = "; ".join(gaps)
    return row | {"different": 0, "refused": missing, "verdict": verdict, "reason": reason}


def _same(row: FunctionRow, real: list[Kernel], gpu: Result, target: Result) -> FunctionRow:
    """Where one answer was given: every character counts. In which order the graphs' files were
    written does not: a target compiles a backward with its forward, a GPU when it is first run.
    """
    ours = kernels(target["wrappers"])
    same = (Counter(real) & Counter(ours)).total()
    different = max(len(real), len(ours)) - same
    calls = _files(gpu) == _files(target)
    verdict = "different" if different else _all_same(len(real), calls)
    diff = "" if calls else _diff(gpu["wrappers"], target["wrappers"])
    return row | {"identical": same, "different": different, "verdict": verdict, "reason": diff}


def _all_same(count: int, calls: bool) -> str:
    if not count:
        return "no kernels"
    return "identical" if calls else "same kernels"


@dataclass(frozen=True)
class TwoWays:
    """The kernels of a function that was compiled both ways: those of both, which are shown as
    exact, and those of one alone. The running number in a name is left out.
    """

    exact: Counter[Kernel]
    first: Counter[Kernel]
    second: Counter[Kernel]

    @classmethod
    def of(cls, target: Result) -> TwoWays:
        """The two ways of a target's side."""
        wrappers = target["wrappers"]
        second: list[str] = []
        done = 0
        for variant in target["variants"]:
            second += wrappers[done : variant["after"]] + variant["wrappers"]
            done = variant["after"] + variant["instead_of"]
        first_way, second_way = (
            Counter(map(unnumbered, kernels(way))) for way in (wrappers, second + wrappers[done:])
        )
        exact = first_way & second_way
        return cls(exact, first_way - exact, second_way - exact)

    def taken(self, rest: Counter[Kernel]) -> str:
        """Which way a GPU went that has these kernels beside the exact ones."""
        if rest == self.first:
            return "first"
        return "second" if rest == self.second else "mixed"


def _one_of_two(row: FunctionRow, real: list[Kernel], target: Result) -> FunctionRow:
    """Where the GPU would time something: what is shown as exact must be there, and what else is
    there must be one of the two.
    """
    ways, there = TwoWays.of(target), Counter(map(unnumbered, real))
    rest = there - ways.exact
    either = (rest & (ways.first | ways.second)).total()
    missing = (ways.exact - there).total()
    different = max(rest.total() - either, missing)
    questions = [question for variant in target["variants"] for question in variant["questions"]]
    names = [name for name, _ in (rest - (ways.first | ways.second))]
    unknown = f"; in neither: {', '.join(names)}" if names else ""
    return row | {
        "identical": (there & ways.exact).total(),
        "either": either,
        "different": different,
        "verdict": "different" if different else "one of two",
        "reason": "; ".join(questions) + unknown,
        "way": ways.taken(rest),
    }


def unnumbered(kernel: Kernel) -> Kernel:
    """A kernel without the number Inductor gives it in the order of writing."""
    name, source = kernel
    bare = re.sub(r"_\d+$", "", name)
    return bare, source.replace(name, bare)


def kernels(wrappers: Sequence[str]) -> list[Kernel]:
    """Name and source of each Triton kernel."""
    from tclab.capturing.read.output_code import OutputCode

    files = map(OutputCode.read, wrappers)
    return [kernel for file in files for kernel in file.triton_sources().items()]


def _files(side: Result) -> Counter[str]:
    return Counter(map(_normal, side["wrappers"]))


def _normal(wrapper: str) -> str:
    """Output code without what differs from process to process: the counter of graphs, the names
    of cache files, and the handles that a capture has Inductor write above calls.
    """
    from tclab.capturing.read import output_code

    text = re.sub(r"^# (AOT ID|kernel path): .*\n", "", wrapper, flags=re.MULTILINE)
    return output_code.without_handles(text)


def _diff(gpu: list[str], target: list[str]) -> str:
    a, b = (_normal("\n".join(side)).splitlines() for side in (gpu, target))
    lines = difflib.unified_diff(a, b, "gpu", "target", lineterm="", n=1)
    return "\n".join(line[:400] for line in lines)[:6000]
