"""Reading Inductor's IR listing: its scheduler nodes, and the bytes each says it moves."""

from __future__ import annotations

import math
import re

from tclab import Listing


def nodes(ir: Listing) -> dict[str, str]:
    """Name → text of each top-level scheduler node; a fused node holds its parts (``snodes``)."""
    parts = re.split(r"^(?=op\w+: )", ir.code, flags=re.MULTILINE)
    found: dict[str, str] = {}
    last, inside = "", False  # the text before said "snodes[i] =": what follows is a part of it
    for part in parts:
        name = re.match(r"(op\w+): ", part)
        if name and inside:
            found[last] += part
        elif name:
            last = name[1]
            found[last] = part
        inside = part.rstrip().endswith("] =")
    return found


def kind(text: str) -> str:
    """The class of a scheduler node, e.g. ``FusedSchedulerNode``."""
    return re.match(r"op\w+: (\w+)", text)[1]


def megabytes(ir: Listing, itemsize: int = 4) -> float:
    """MB that all nodes together declare to read and write, each dependency of a node once."""
    total = 0
    for text in nodes(ir).values():
        head = text.split("min_input_distance", 1)[0]
        deps = set(re.findall(r"MemoryDep\('(\w+)', [^{]*\{([^}]*)\}", head))
        total += sum(math.prod(map(int, re.findall(r": (\d+)", ranges))) for _, ranges in deps)
    return total * itemsize / 1e6
