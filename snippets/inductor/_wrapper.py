"""What a generated wrapper allocates, read from its text."""

from __future__ import annotations

import math
import re

_SIZES = {"float32": 4, "float64": 8, "bfloat16": 2, "int64": 8, "uint8": 1}


def allocations(code: str) -> tuple[int, int, int]:
    """Number of allocations, their bytes, and the most bytes of them alive at once."""
    live: dict[str, int] = {}
    count = total = peak = 0
    for line in code[code.index("args.clear()") :].splitlines():
        if line.lstrip().startswith("return "):
            break
        if made := re.search(r"(\w+) = empty_strided_\w+\(\(([^)]*)\), .*torch\.(\w+)\)", line):
            size = math.prod(int(n) for n in made[2].split(",") if n.strip()) * _SIZES[made[3]]
            live[made[1]], count, total = size, count + 1, total + size
        elif moved := re.search(r"(\w+) = (\w+); del \2\b", line):  # the same memory, a new name
            live[moved[1]] = live.pop(moved[2], 0)
        elif freed := re.match(r"\s*del (.*)", line):
            for name in freed[1].split(","):
                live.pop(name.strip(), None)
        peak = max(peak, sum(live.values()))
    return count, total, peak


def call_lines(code: str) -> str:
    """The body of the wrapper's `call` that allocates, launches, frees and returns."""
    body = code[code.index("args.clear()") :].splitlines()[1:]
    end = next(i for i, line in enumerate(body) if line.lstrip().startswith("return ")) + 1
    kept = [line.strip() for line in body[:end] if "assert_size_stride" not in line]
    return "\n".join(line for line in kept if not line.startswith("#"))
