"""Lines that a reader can do without: directives, places of origin, padding, and of a Triton
kernel its imports, decorators and index arithmetic.

They are hidden by default, and one switch shows them. They are never left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

_GRAPH = re.compile(r"\s*# (File: |No stacktrace found for following nodes)")
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

#: Of a kernel that Inductor wrote for Triton, what is no step of the computation.
#   from torch._inductor.runtime import triton_helpers    triton_helpers.set_driver_to_gpu()
_PRELUDE = re.compile(r"(import|from) |triton_helpers\.|$")
#   xindex = xoffset + tl.arange(0, XBLOCK)[:]    r0_1 = r0_index    R0_BLOCK: tl.constexpr = 64
_INDEX = re.compile(
    r"\s+([xyz]\d+|r\d_\d+|([xyz]|r\d_|r)(numel|offset|index|mask|base)|R(\d_)?BLOCK)\b"
    r"(: tl\.constexpr)? = "
)


def noise(stage: str, code: str, links: Container[int] = ()) -> frozenset[int]:
    """Which lines of `code` are noise, from 0. What index arithmetic was made of (`links`, lines
    from 1) is none.
    """
    lines = code.removesuffix("\n").split("\n")
    if stage == "kernel":
        indices = (i for i, line in enumerate(lines) if _INDEX.match(line) and i + 1 not in links)
        return metadata(stage, code).union(indices)
    pattern = _NOISE.get(stage)
    return frozenset(i for i, line in enumerate(lines) if pattern and pattern.match(line))


def metadata(stage: str, code: str) -> frozenset[int]:
    """Which lines of a kernel only say how it is to be compiled and launched, from 0."""
    lines = code.removesuffix("\n").split("\n")
    return frozenset(_header(lines)) if stage == "kernel" else frozenset()


def _header(lines: list[str]) -> Iterator[int]:
    """Imports, blank lines, decorators with all that they are given."""
    is_open = False  # the bracket of a decorator
    for number, line in enumerate(lines):
        is_open = line.rstrip().endswith("(") if line.startswith("@") else is_open
        is_open = is_open and not line.startswith("def ")
        if is_open or line.startswith("@") or _PRELUDE.match(line):
            yield number
        is_open = is_open and not line.startswith(")")
