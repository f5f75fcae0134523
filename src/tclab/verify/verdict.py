"""Whether the kernels of both sides are the same, function by function."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
Kernel = tuple[str, str]  # name and source of a Triton kernel

#: What kernels are counted as.
COUNTS = ("kernels", "identical", "either", "different", "refused")


def compare(name: str, gpu: dict[str, Any], target: dict[str, Any]) -> Row:
    """One function: how many kernels are identical, one of two, different, refused, and why."""
    row: Row = {"name": name, **dict.fromkeys(COUNTS, 0),
                "seconds": [gpu.get("seconds"), target.get("seconds")]}  # fmt: skip
    if gpu["status"] != "done":
        return row | {"verdict": f"gpu {gpu['status']}", "reason": gpu["reason"]}
    real = kernels(gpu["wrappers"])
    row["kernels"] = len(real)
    if target["status"] != "done":
        counted = "refused" if target["status"] == "refused" else "different"
        return row | {"verdict": target["status"], counted: len(real), "reason": target["reason"]}
    own = _either(real, target) if target.get("variants") else _same(real, gpu, target)
    return row | (_with_gaps(own, target["gaps"]) if target.get("gaps") else own)


def _with_gaps(row: Row, gaps: list[str]) -> Row:
    """Where part of the function was refused: kernels that are not shown are refused, too."""
    missing = row["different"]
    verdict = "refused in part" if missing else row["verdict"]
    own = {"different": 0, "refused": missing, "verdict": verdict}
    return row | own | {"reason": "; ".join(gaps)}


def _same(real: list[Kernel], gpu: dict[str, Any], target: dict[str, Any]) -> Row:
    """Where one answer was given: every character counts. In which order the graphs' files were
    written does not: a target compiles a backward with its forward, a GPU when it is first run.
    """
    ours = kernels(target["wrappers"])
    same = (Counter(real) & Counter(ours)).total()
    different = max(len(real), len(ours)) - same
    calls = _files(gpu) == _files(target)
    verdict = "different" if different else _all_same(len(real), calls)
    diff = "" if calls else _diff(gpu["wrappers"], target["wrappers"])
    return {"identical": same, "different": different, "verdict": verdict, "reason": diff}


def _all_same(count: int, calls: bool) -> str:
    if not count:
        return "no kernels"
    return "identical" if calls else "same kernels"


@dataclass(frozen=True)
class Open:
    """The kernels of a function that was compiled both ways, without the running number in their
    names: those of both ways, which are shown as exact, and those of one of them.
    """

    exact: Counter[Kernel]
    first: Counter[Kernel]
    second: Counter[Kernel]

    @classmethod
    def of(cls, target: dict[str, Any]) -> Open:
        """What the result of a target's side says."""
        wrappers: list[str] = target["wrappers"]
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


def _either(real: list[Kernel], target: dict[str, Any]) -> Row:
    """Where the GPU would time something: what is shown as exact must be there, and what else is
    there must be one of the two.
    """
    shown, there = Open.of(target), Counter(map(unnumbered, real))
    rest = there - shown.exact
    either = (rest & (shown.first | shown.second)).total()
    missing = (shown.exact - there).total()
    different = max(rest.total() - either, missing)
    row: Row = {"identical": (there & shown.exact).total(), "either": either}
    row |= {"different": different, "verdict": "different" if different else "one of two"}
    asked = [question for variant in target["variants"] for question in variant["questions"]]
    names = [name for name, _ in (rest - (shown.first | shown.second))]
    unknown = f"; in neither: {', '.join(names)}" if names else ""
    return row | {"reason": "; ".join(asked) + unknown, "way": _way(rest, shown)}


def _way(rest: Counter[Kernel], shown: Open) -> str:
    """Which of the two ways the GPU went."""
    if rest == shown.first:
        return "first"
    return "second" if rest == shown.second else "mixed"


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


def _files(side: dict[str, Any]) -> Counter[str]:
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
