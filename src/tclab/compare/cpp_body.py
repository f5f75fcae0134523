"""Normalise a C++ kernel: number its names by their order, remove comments and layout. Describe how
two kernels differ by their machines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#   //  a comment, and /* one of these */
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# #include <torch/csrc/inductor/cpp_prefix.h>
_INCLUDE = re.compile(r"^\s*#include[^\n]*\n", re.MULTILINE)
# cpp_fused_add_relu_0
_KERNEL_NAME = re.compile(r"\bcpp_fused_\w+")
# in_ptr0, tmp12, x1, tmp_acc0_vec, in_out_ptr0
_NUMBERED_NAME = re.compile(r"\b((?:in_out|in|out)_ptr|[a-z_]+?)(\d+)((?:_[a-z]+)*)\b")
#: Names of types and vectors, whose numbers have a meaning and are kept.
_KEPT_NAME = re.compile(r"(?:u?int\d+_t|(?:b?float|double|half)\d*|at|vec|tail)$")

# for (int tid = 0; tid < 2; tid++), a loop over the results of 2 threads; or num_threads(2)
_THREADS = re.compile(r"\btid < (\d+)|num_threads\((\d+)\)")
# ::loadu(ptr_0 + static_cast<int64_t>(x_0), static_cast<int64_t>(16));
_VECTOR = re.compile(r"::loadu\(.*, static_cast<int64_t>\((\d+)\)\);")


def normalize_cpp(source: str) -> str:
    """Return a kernel's normalised source."""
    text = _KERNEL_NAME.sub("kernel", _INCLUDE.sub("", _COMMENT.sub("", source)))
    names: dict[str, str] = {}
    seen: dict[str, int] = {}

    def rename(match: re.Match[str]) -> str:
        name = match[0]
        if _KEPT_NAME.match(name):
            return name
        if name not in names:
            kind = f"{'ptr' if match[1].endswith('ptr') else match[1]}{match[3]}"
            names[name] = f"{kind}_{seen.setdefault(kind, 0)}"
            seen[kind] += 1
        return names[name]

    lines = _NUMBERED_NAME.sub(rename, text).split("\n")
    return "\n".join(" ".join(line.split()) for line in lines if line.strip())


def describe_machines(before: str, now: str) -> Iterator[str]:
    """Yield a line for each property of a machine in which the bodies of two C++ kernels differ."""
    for what, chosen_by, count in (
        ("threads", "the number of cores, or OMP_NUM_THREADS", _count_threads),
        ("elements in a vector", "the processor, or ATEN_CPU_CAPABILITY", _count_vector_elements),
    ):
        one, two = count(before), count(now)
        if one != two:
            numbers = f"{one or 'no'} {what} before, {two or 'no'} now"
            yield f"{numbers}: {chosen_by}, can be the whole cause; compare on one kind of machine"


def _count_threads(body: str) -> str:
    if "#pragma omp parallel" not in body:
        return "1"
    numbers = {one or two for one, two in _THREADS.findall(body)}
    return ", ".join(sorted(numbers, key=int)) or "several"


def _count_vector_elements(body: str) -> str:
    return ", ".join(sorted(set(_VECTOR.findall(body)), key=int))
