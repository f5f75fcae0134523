"""Find noise: lines that the viewer hides by default, such as directives, source locations,
padding, and the imports, decorators and index arithmetic of a Triton kernel.

A switch shows these lines, which are always in the page.
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

#: Stage → the pattern at the beginning of a noise line.
_NOISE = {
    **dict.fromkeys(("dynamo", "joint", "forward", "backward", "pre_grad", "post_grad"), _GRAPH),
    **dict.fromkeys(("ttir", "ttgir"), _MLIR),
    #   !12 = !DILocation(line: 20, column: 28, scope: !4)
    "llir": re.compile(r"!|; ModuleID|source_filename|target (datalayout|triple)"),
    #   .loc 1 24 35 // kernel.py:24:35        $L__tmp3:        // begin inline asm
    "ptx": re.compile(r"\s*(//|\.(loc|file|section)\b|\$L__(tmp|func_)\w*:|$)"),
    #   .loc 1 24 35 ; kernel.py:24:35    .Ltmp3:    ; %bb.1:
    "amdgcn": re.compile(r"\s*(;|\.[a-zL]\w*|$)"),
    #   //## File "kernel.py", line 24    .section .text.kernel    /*0390*/ NOP;    .text.kernel:
    "sass": re.compile(r"\s*(//|\.[a-z_][\w.]*(\s|:|$)|/\*[0-9a-f]+\*/\s+NOP\b|$)"),
}

#: Lines in one of Inductor's Triton kernels that compute nothing:
#:   from torch._inductor.runtime import triton_helpers
#:   triton_helpers.set_driver_to_gpu()
_PRELUDE = re.compile(r"(import|from) |triton_helpers\.|$")
#   xindex = xoffset + tl.arange(0, XBLOCK)[:]    r0_1 = r0_index    R0_BLOCK: tl.constexpr = 64
_INDEX = re.compile(
    r"\s+([xyz]\d+|r\d_\d+|([xyz]|r\d_|r)(numel|offset|index|mask|base)|R(\d_)?BLOCK)\b"
    r"(: tl\.constexpr)? = "
)


def find_noise(stage: str, code: str, links: Container[int] = ()) -> frozenset[int]:
    """Return the numbers of the noise lines of `code`, from 0. `links` are the numbers, from 1, of
    lines with a known origin; index arithmetic on such a line is not noise.
    """
    lines = code.removesuffix("\n").split("\n")
    if stage == "kernel":
        index_lines = (
            index
            for index, line in enumerate(lines)
            if _INDEX.match(line) and index + 1 not in links
        )
        return find_metadata(stage, code).union(index_lines)
    pattern = _NOISE.get(stage)
    return frozenset(index for index, line in enumerate(lines) if pattern and pattern.match(line))


def find_metadata(stage: str, code: str) -> frozenset[int]:
    """Return the lines of a kernel, from 0, that only say how to compile and launch it."""
    lines = code.removesuffix("\n").split("\n")
    return frozenset(_header_lines(lines)) if stage == "kernel" else frozenset()


def _header_lines(lines: list[str]) -> Iterator[int]:
    """Yield the lines of imports, blank lines, and decorators with their arguments."""
    is_open = False  # inside the brackets of a decorator
    for number, line in enumerate(lines):
        is_open = line.rstrip().endswith("(") if line.startswith("@") else is_open
        is_open = is_open and not line.startswith("def ")
        if is_open or line.startswith("@") or _PRELUDE.match(line):
            yield number
        is_open = is_open and not line.startswith(")")
