"""Compute the peak memory of the buffers that a wrapper allocates, from its source."""

from __future__ import annotations

import ast
import re

# empty_strided_cuda, empty_strided_cpu, empty_strided_cpu_pinned
_ALLOCATION = re.compile(r"empty_strided_\w+$")
#: Dtype as the wrapper names it → bytes of an element; elements of other dtypes have one byte.
_DTYPE_BYTES = {
    **dict.fromkeys(("float64", "int64", "complex64", "uint64"), 8),
    **dict.fromkeys(("float32", "int32", "uint32"), 4),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16"), 2),
    "complex128": 16,
}


def peak_bytes(wrapper: str) -> int | None:
    """Return the peak bytes of a wrapper's buffers; None if a size is a symbol, 0 if the source is
    not Python.
    """
    try:
        tree = ast.parse(wrapper)
    except SyntaxError:
        return 0
    peaks = [
        _peak_bytes_of_function(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    known = [peak for peak in peaks if peak is not None]
    return max(known, default=0) if len(known) == len(peaks) else None


def _peak_bytes_of_function(function: ast.FunctionDef) -> int | None:
    live: dict[str, int] = {}
    most = 0
    for statement in _statements_in_order(function):
        if isinstance(statement, ast.Delete):
            for target in statement.targets:
                live.pop(ast.unparse(target), None)
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            name, value = ast.unparse(statement.targets[0]), statement.value
            if isinstance(value, ast.Name) and value.id in live:  # buf1 = buf0; del buf0
                live[name] = live.pop(value.id)
            elif isinstance(value, ast.Call) and _ALLOCATION.match(ast.unparse(value.func)):
                size = _buffer_bytes(value)
                if size is None:
                    return None
                live[name] = size
                most = max(most, sum(live.values()))
    return most


def _statements_in_order(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return a function's statements in source order, including those inside blocks."""
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))


def _buffer_bytes(call: ast.Call) -> int | None:
    """Return the bytes of ``empty_strided_cuda((64, 64), (64, 1), torch.float32)``, or None."""
    try:
        sizes, strides = (ast.literal_eval(each) for each in call.args[:2])
    except (ValueError, IndexError):
        return None
    if 0 in sizes:
        return 0
    elements: int = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    name = ast.unparse(call.args[2]).rpartition(".")[2]
    return elements * _DTYPE_BYTES.get(name, 1)
