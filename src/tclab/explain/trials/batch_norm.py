"""Give a BatchNorm with ``momentum=None`` a number: without one it reads its count of batches."""

from __future__ import annotations

import ast

from tclab.explain.trials import rewrites
from tclab.explain.trials.remedy import Remedy
from tclab.model import Break

#: Where a BatchNorm reads the value of a tensor.
_FILE = "torch/nn/modules/batchnorm.py"
_WHY = (
    "without a number it reads its count of batches in each training call, and with one its "
    "running statistics are an exponential average, not the mean of all batches."
)


def reads_its_count(item: Break) -> bool:
    """Return whether a break is where a BatchNorm reads its count of batches."""
    return item.location is not None and item.location.file == _FILE


def set_momentum(text: str) -> Remedy:
    """Return the remedy that gives each BatchNorm of the reader's file PyTorch's default momentum.
    It changes no line if no BatchNorm of the file has ``momentum=None``.
    """
    lines = dict(enumerate(text.splitlines(), 1))
    changed: dict[int, str] = {}
    values = [
        keyword.value
        for node in ast.walk(rewrites.parse_file(text)) if isinstance(node, ast.Call)
        for keyword in node.keywords
        if "BatchNorm" in ast.unparse(node.func) and ast.unparse(keyword) == "momentum=None"
    ]  # fmt: skip
    for value in sorted(values, key=lambda each: -each.col_offset):  # each moves those behind it
        line = changed.get(value.lineno, lines[value.lineno])
        changed[value.lineno] = rewrites.replace_expression(line, value, "0.1")
    where = f" (line {', '.join(map(str, sorted(changed)))})" if changed else ""
    return Remedy(f"Give BatchNorm momentum=0.1{where}: {_WHY}", lines=changed)
