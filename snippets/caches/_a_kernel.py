"""A kernel that a compile worker compiles, for a GPU that need not be there."""

from __future__ import annotations

import os

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def scaled(source, target, size, number: tl.constexpr, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(target + at, tl.load(source + at, at < size) * number, at < size)


def compiled(number: int) -> int:
    """Compile it, each number anew, for an H200. The worker's process id."""
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    types = {"source": "*fp32", "target": "*fp32", "size": "i32"}
    types |= {"number": "constexpr", "block": "constexpr"}
    source = triton.compiler.ASTSource(scaled, types, {"number": number, "block": 1024})
    triton.compile(source, target=GPUTarget("cuda", 90, 32))
    return os.getpid()
