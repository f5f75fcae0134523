"""The memory that a wrapper's own buffers take at once, read from its calls top to bottom."""

from __future__ import annotations

import ast
import re

# empty_strided_cuda, empty_strided_cpu, empty_strided_cpu_pinned
_EMPTY = re.compile(r"empty_strided_\w+$")
#: Bytes of a number of each type, as the wrapper names it.
_BYTES = {
    **dict.fromkeys(("float64", "int64", "complex64", "uint64"), 8),
    **dict.fromkeys(("float32", "int32", "uint32"), 4),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16"), 2),
    "complex128": 16,
}


def most_bytes(wrapper: str) -> int | None:
    """The most bytes of buffers that are there together; None where a size is a symbol, 0 for what
    is no Python.
    """
    try:
        tree = ast.parse(wrapper)
    except SyntaxError:
        return 0
    peaks = [_of(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    known = [peak for peak in peaks if peak is not None]
    return max(known, default=0) if len(known) == len(peaks) else None


def _of(function: ast.FunctionDef) -> int | None:
    live: dict[str, int] = {}
    most = 0
    for statement in _statements(function):
        if isinstance(statement, ast.Delete):
            for target in statement.targets:
                live.pop(ast.unparse(target), None)
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            name, value = ast.unparse(statement.targets[0]), statement.value
            if isinstance(value, ast.Name) and value.id in live:  # buf1 = buf0; del buf0
                live[name] = live.pop(value.id)
            elif isinstance(value, ast.Call) and _EMPTY.match(ast.unparse(value.func)):
                size = _bytes(value)
                if size is None:
                    return None
                live[name] = size
                most = max(most, sum(live.values()))
    return most


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    """Those of the function in order, blocks of ``with`` opened."""
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))


def _bytes(call: ast.Call) -> int | None:
    """Of ``empty_strided_cuda((64, 64), (64, 1), torch.float32)``."""
    try:
        sizes, strides = (ast.literal_eval(each) for each in call.args[:2])
    except (ValueError, IndexError):
        return None
    if 0 in sizes:
        return 0
    elements: int = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    name = ast.unparse(call.args[2]).rpartition(".")[2]
    return elements * _BYTES.get(name, 1)
