"""Normalise a C++ kernel: number its names by their order, remove comments and layout."""

from __future__ import annotations

import re

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
