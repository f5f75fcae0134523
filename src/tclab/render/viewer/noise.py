"""Lines that a reader can do without: directives, places of origin, padding.

They are hidden by default, and one switch shows them. They are never left out.
"""

from __future__ import annotations

import re

_GRAPH = re.compile(r"\s*# File: ")
#   # File: model.py:16 in f, code: mean = x.mean(-1)
_MLIR = re.compile(r"#loc\d* = ")
#   #loc17 = loc("kernel.py":39:24)

#: Of each stage, what a line that is noise begins with.
_NOISE = {
    **dict.fromkeys(("dynamo", "joint", "forward", "backward", "pre_grad", "post_grad"), _GRAPH),
    **dict.fromkeys(("ttir", "ttgir"), _MLIR),
    #   !12 = !DILocation(line: 20, column: 28, scope: !4)
    "llir": re.compile(r"!|; ModuleID|source_filename|target (datalayout|triple)"),
    #   .loc 1 24 35 // kernel.py:24:35        $L__tmp3:        // begin inline asm
    "ptx": re.compile(r"\s*(//|\.(loc|file|section)\b|\$L__(tmp|func_)\w*:|$)"),
    #   //## File "kernel.py", line 24    .section .text.kernel    /*0390*/ NOP;    .text.kernel:
    "sass": re.compile(r"\s*(//|\.[a-z_][\w.]*(\s|:|$)|/\*[0-9a-f]+\*/\s+NOP\b|$)"),
}


def noise(stage: str, code: str) -> frozenset[int]:
    """Which lines of `code` are noise, from 0."""
    pattern = _NOISE.get(stage)
    if pattern is None:
        return frozenset()
    lines = code.removesuffix("\n").split("\n")
    return frozenset(i for i, line in enumerate(lines) if pattern.match(line))
