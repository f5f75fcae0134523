"""A C++ kernel as what it computes: names by the order in which they occur, no layout."""

from __future__ import annotations

import re

#   //  a comment, and /* one of these */
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# #include <torch/csrc/inductor/cpp_prefix.h>
_INCLUDE = re.compile(r"^\s*#include[^\n]*\n", re.MULTILINE)
# cpp_fused_add_relu_0
_KERNEL = re.compile(r"\bcpp_fused_\w+")
# in_ptr0, tmp12, x1, tmp_acc0_vec, in_out_ptr0
_NUMBERED = re.compile(r"\b((?:in_out|in|out)_ptr|[a-z_]+?)(\d+)((?:_[a-z]+)*)\b")
#: Types and vectors have numbers that say something.
_WORDS = re.compile(r"(?:u?int\d+_t|(?:b?float|double|half)\d*|at|vec|tail)$")


def body(source: str) -> str:
    """A kernel's source, normalised."""
    text = _KERNEL.sub("kernel", _INCLUDE.sub("", _COMMENT.sub("", source)))
    names: dict[str, str] = {}
    seen: dict[str, int] = {}

    def renamed(match: re.Match[str]) -> str:
        name = match[0]
        if _WORDS.match(name):
            return name
        if name not in names:
            kind = f"{'ptr' if match[1].endswith('ptr') else match[1]}{match[3]}"
            names[name] = f"{kind}_{seen.setdefault(kind, 0)}"
            seen[kind] += 1
        return names[name]

    return "\n".join(" ".join(line.split()) for line in _NUMBERED.sub(renamed, text).split("\n")
                     if line.strip())  # fmt: skip
