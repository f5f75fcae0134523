"""Compare the kernels of both sides, function by function."""

from __future__ import annotations

import difflib
import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tclab.workshop.verify.results import FunctionRow, Result, Variant

Kernel = tuple[str, str]  # name and source of a Triton kernel


def compare_function(name: str, gpu: Result, target: Result) -> FunctionRow:
    """Return one function's row: its counts of kernels, its verdict and the reason."""
    row = _empty_row(name, gpu, target)
    if gpu["status"] != "done":
        return row | {"verdict": f"gpu {gpu['status']}", "reason": gpu["reason"]}
    on_gpu = extract_kernels(gpu["wrappers"])
    row["kernels"] = len(on_gpu)
    if target["status"] == "done":
        one_answer = not target.get("variants")
        if one_answer:
            return _compare_exact(row, on_gpu, gpu, target)
        return _compare_variants(row, on_gpu, target)
    row["refused" if target["status"] == "refused" else "different"] = len(on_gpu)
    return row | {"verdict": target["status"], "reason": target["reason"]}


def _empty_row(name: str, gpu: Result, target: Result) -> FunctionRow:
    seconds = [gpu.get("seconds"), target.get("seconds")]
    return {
        "name": name,
        "kernels": 0, "identical": 0, "measured": 0, "either": 0, "different": 0, "refused": 0,
        "verdict": "", "reason": "", "way": "",
        "seconds": seconds,
    }  # fmt: skip


def _compare_exact(
    row: FunctionRow, on_gpu: list[Kernel], gpu: Result, target: Result
) -> FunctionRow:
    """Compare the kernels, character by character, with a target that has only one variant.

    The order of the graphs' files is ignored, because for a target a backward is compiled together
    with its forward, and on the GPU it is compiled when it first runs.
    """
    there, ours = Counter(on_gpu), Counter(extract_kernels(target["wrappers"]))
    if target.get("gaps"):  # a refused kernel gets no number, so the numbers of others shift
        there, ours = (
            Counter(map(_strip_number, on_gpu)),
            Counter(map(_strip_number, ours.elements())),
        )
    same = there & ours
    same_calls = _count_files(gpu) == _count_files(target)
    diff = "" if same_calls else _diff_text(gpu["wrappers"], target["wrappers"])
    row = row | {
        "identical": same.total(),
        "measured": _count_measured(same, target),
        "reason": diff,
    }
    row = _count_unmatched(row, (there - ours).total(), (ours - there).total(), target)
    return row | {"verdict": row["verdict"] or _name_agreement(len(on_gpu), same_calls)}


def _count_unmatched(row: FunctionRow, unknown: int, missing: int, target: Result) -> FunctionRow:
    """Count the kernels that only one side has: `missing` is the number of kernels that only the
    target has, and `unknown` is the number that only the GPU has.

    If the target has gaps, the missing kernels count as different, and the unknown kernels beyond
    this number count as refused. Without gaps, the larger of the two numbers counts as different.
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


def _name_agreement(count: int, same_calls: bool) -> str:
    if not count:
        return "no kernels"
    return "identical" if same_calls else "same kernels"


def _count_measured(identical: Counter[Kernel], target: Result) -> int:
    """Count the kernels that are missing if each measured choice gets the opposite answer."""
    otherwise = target.get("otherwise")
    if not otherwise:
        return 0
    others = extract_kernels(_substitute(target["wrappers"], otherwise))
    shown_anyway = set(map(_strip_number, others))
    return sum(
        count for kernel, count in identical.items() if _strip_number(kernel) not in shown_anyway
    )


def _substitute(wrappers: list[str], variants: Sequence[Variant]) -> list[str]:
    """Return the output code with each variant in place of the files that it replaces."""
    files: list[str] = []
    done = 0
    for variant in variants:
        files += wrappers[done : variant["after"]] + variant["wrappers"]
        done = variant["after"] + variant["instead_of"]
    return files + wrappers[done:]


@dataclass(frozen=True)
class ShownKernels:
    """The kernels of a function that a target compiled in several variants.

    Kernels that all variants have are `exact`. `first` are the other kernels of the main result,
    and `others` are the other kernels of each variant. The running numbers in kernels' names are
    removed.
    """

    exact: Counter[Kernel]
    first: Counter[Kernel]
    others: tuple[Counter[Kernel], ...]

    @classmethod
    def from_result(cls, target: Result) -> ShownKernels:
        """Return the kernels that a target's result shows."""
        variants = [_substitute(target["wrappers"], [variant]) for variant in target["variants"]]
        first, *others = [
            Counter(map(_strip_number, extract_kernels(w))) for w in (target["wrappers"], *variants)
        ]
        exact = functools.reduce(Counter.__and__, others, first)
        return cls(exact, first - exact, tuple(other - exact for other in others))

    @property
    def possible(self) -> set[Kernel]:
        """The kernels that the GPU may have in addition to the exact ones."""
        return {kernel for kernels in (self.first, *self.others) for kernel in kernels}

    def name_variant(self, rest: Counter[Kernel]) -> str:
        """Name the variant whose further kernels are `rest`; ``mixed`` if there is none."""
        if rest == self.first:
            return "first"
        if rest not in self.others:
            return "mixed"
        return "second" if len(self.others) == 1 else "another"


def _compare_variants(row: FunctionRow, on_gpu: list[Kernel], target: Result) -> FunctionRow:
    """Compare with a target that shows several variants, because the GPU times some choices.

    The GPU must have all exact kernels, and each of its other kernels must be in a variant.
    """
    shown, there = ShownKernels.from_result(target), Counter(map(_strip_number, on_gpu))
    same, rest = there & shown.exact, there - shown.exact
    unknown = {kernel: count for kernel, count in rest.items() if kernel not in shown.possible}
    names = f"in none: {', '.join(name for name, _ in unknown)}" if unknown else ""
    questions = dict.fromkeys(q for variant in target["variants"] for q in variant["questions"])
    row = row | {
        "identical": same.total(),
        "measured": _count_measured(same, target),
        "either": rest.total() - sum(unknown.values()),
        "reason": "; ".join(filter(None, [*questions, names])),
        "way": shown.name_variant(rest),
    }
    row = _count_unmatched(row, sum(unknown.values()), (shown.exact - there).total(), target)
    return row | {"verdict": row["verdict"] or "open"}


def _strip_number(kernel: Kernel) -> Kernel:
    """Return a kernel without the running number in its name."""
    from tclab.capturing.read.output_code import strip_number

    return strip_number(*kernel)


def extract_kernels(wrappers: Sequence[str]) -> list[Kernel]:
    """Return name and source of each Triton kernel in output code."""
    from tclab.capturing.read.output_code import OutputCode

    files = map(OutputCode.parse, wrappers)
    return [kernel for file in files for kernel in file.triton_sources().items()]


def _count_files(side: Result) -> Counter[str]:
    return Counter(map(_normalize, side["wrappers"]))


def _normalize(wrapper: str) -> str:
    """Return output code without the parts that differ from process to process.

    These parts are the counter of graphs, the names of cache files, and the handles that a capture
    makes Inductor write above calls.
    """
    from tclab.capturing.read import output_code

    text = re.sub(r"^# (AOT ID|kernel path): .*\n", "", wrapper, flags=re.MULTILINE)
    return output_code.strip_handles(text)


def _diff_text(gpu: list[str], target: list[str]) -> str:
    a, b = (_normalize("\n".join(side)).splitlines() for side in (gpu, target))
    lines = difflib.unified_diff(a, b, "gpu", "target", lineterm="", n=1)
    return "\n".join(line[:400] for line in lines)[:6000]
