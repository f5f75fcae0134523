"""Whether the kernels of both sides are the same, function by function."""

from __future__ import annotations

import difflib
import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tclab.verify.results import FunctionRow, Result, Variant

Kernel = tuple[str, str]  # name and source of a Triton kernel


def compare(name: str, gpu: Result, target: Result) -> FunctionRow:
    """One function: how many kernels are identical, one of several, different, refused, and why."""
    row = _empty(name, gpu, target)
    if gpu["status"] != "done":
        return row | {"verdict": f"gpu {gpu['status']}", "reason": gpu["reason"]}
    real = kernels(gpu["wrappers"])
    row["kernels"] = len(real)
    if target["status"] == "done":
        one_answer = not target.get("variants")
        return _same(row, real, gpu, target) if one_answer else _one_of_several(row, real, target)
    row["refused" if target["status"] == "refused" else "different"] = len(real)
    return row | {"verdict": target["status"], "reason": target["reason"]}


def _empty(name: str, gpu: Result, target: Result) -> FunctionRow:
    seconds = [gpu.get("seconds"), target.get("seconds")]
    return {
        "name": name,
        "kernels": 0, "identical": 0, "measured": 0, "either": 0, "different": 0, "refused": 0,
        "verdict": "", "reason": "", "way": "",
        "seconds": seconds,
    }  # fmt: skip


def _same(row: FunctionRow, real: list[Kernel], gpu: Result, target: Result) -> FunctionRow:
    """Where one answer was given: every character counts. In which order the graphs' files were
    written does not: a target compiles a backward with its forward, a GPU when it is first run.
    """
    there, ours = Counter(real), Counter(kernels(target["wrappers"]))
    if target.get("gaps"):  # what is refused has no number in the order of writing
        there, ours = Counter(map(_bare, real)), Counter(map(_bare, ours.elements()))
    same = there & ours
    calls = _files(gpu) == _files(target)
    diff = "" if calls else _diff(gpu["wrappers"], target["wrappers"])
    row = row | {"identical": same.total(), "measured": _measured(same, target), "reason": diff}
    row = _rest(row, (there - ours).total(), (ours - there).total(), target)
    return row | {"verdict": row["verdict"] or _all_same(len(real), calls)}


def _rest(row: FunctionRow, unknown: int, missing: int, target: Result) -> FunctionRow:
    """Kernels that are shown and that the GPU did not get are different, whatever else is refused.
    Kernels that are not shown are refused where part of the function is, else different.
    """
    gaps = target.get("gaps")
    different = missing if gaps else max(unknown, missing)
    refused = max(0, unknown - different) if gaps else 0
    part = "refused in part" if refused else ""
    reason = "; ".join(filter(None, [*(gaps or ()), row["reason"] if different else ""]))
    return row | {
        "different": different,
        "refused": refused,
        "verdict": "different" if different else part,
        "reason": reason if gaps else row["reason"],
    }


def _all_same(count: int, calls: bool) -> str:
    if not count:
        return "no kernels"
    return "identical" if calls else "same kernels"


def _measured(same: Counter[Kernel], target: Result) -> int:
    """How many would not be shown if what was measured had come out otherwise."""
    otherwise = target.get("otherwise")
    if not otherwise:
        return 0
    exact = set(map(_bare, kernels(_taken(target["wrappers"], otherwise))))
    return sum(count for kernel, count in same.items() if _bare(kernel) not in exact)


def _taken(wrappers: list[str], variants: Sequence[Variant]) -> list[str]:
    """The files with the variants, one a graph, in the place of what they stand instead of."""
    files: list[str] = []
    done = 0
    for variant in variants:
        files += wrappers[done : variant["after"]] + variant["wrappers"]
        done = variant["after"] + variant["instead_of"]
    return files + wrappers[done:]


@dataclass(frozen=True)
class Shown:
    """The kernels of a function that was compiled in several ways: those of each way, which are
    shown as exact; those of the first beside them; all there can be. The running number in a name
    is left out.
    """

    exact: Counter[Kernel]
    first: Counter[Kernel]
    others: tuple[Counter[Kernel], ...]

    @classmethod
    def of(cls, target: Result) -> Shown:
        """What a target's side shows."""
        ways = [_taken(target["wrappers"], [variant]) for variant in target["variants"]]
        first, *others = [Counter(map(_bare, kernels(w))) for w in (target["wrappers"], *ways)]
        exact = functools.reduce(Counter.__and__, others, first)
        return cls(exact, first - exact, tuple(other - exact for other in others))

    @property
    def open(self) -> set[Kernel]:
        """All of which the GPU may get any."""
        return {kernel for way in (self.first, *self.others) for kernel in way}

    def taken(self, rest: Counter[Kernel]) -> str:
        """Which way a GPU went that has these kernels beside the exact ones."""
        if rest == self.first:
            return "first"
        if rest not in self.others:
            return "mixed"
        return "second" if len(self.others) == 1 else "another"


def _one_of_several(row: FunctionRow, real: list[Kernel], target: Result) -> FunctionRow:
    """Where the GPU would time something: what is shown as exact must be there, and what else is
    there must be one of those that are shown.
    """
    shown, there = Shown.of(target), Counter(map(_bare, real))
    same, rest = there & shown.exact, there - shown.exact
    unknown = {kernel: count for kernel, count in rest.items() if kernel not in shown.open}
    names = f"in none: {', '.join(name for name, _ in unknown)}" if unknown else ""
    questions = dict.fromkeys(q for variant in target["variants"] for q in variant["questions"])
    row = row | {
        "identical": same.total(),
        "measured": _measured(same, target),
        "either": rest.total() - sum(unknown.values()),
        "reason": "; ".join(filter(None, [*questions, names])),
        "way": shown.taken(rest),
    }
    row = _rest(row, sum(unknown.values()), (shown.exact - there).total(), target)
    return row | {"verdict": row["verdict"] or "open"}


def _bare(kernel: Kernel) -> Kernel:
    """A kernel without the number Inductor gives it in the order of writing."""
    from tclab.capturing.read.output_code import unnumbered

    return unnumbered(*kernel)


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
