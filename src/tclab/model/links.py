"""Define the keys that link lines. Only this module knows the form of each kind of key:

``py:<file>:<line>``, ``bc:<compile>:<offset>``, ``fx:<stage>:<index>:<node>``,
``ir:<unit>:<op>[:<value>]``, ``kernel:<unit>.<kernel>:<line>`` and, below the kernel,
``ttir:<unit>.<kernel>:<position>`` and so on. A unit is one graph that Inductor compiled; units
and the kernels of a unit count from 0.
"""

from __future__ import annotations

from collections.abc import Iterable

Keys = tuple[str, ...]

_PYTHON, _NODE, _KERNEL = "py:", "fx:", "kernel:"


def python_key(file: str, line: int) -> str:
    """Return the key of a line of Python."""
    return f"{_PYTHON}{file}:{line}"


def parse_python_key(key: str) -> tuple[str, int] | None:
    """Return the file and the line number of a Python key; None for any other key."""
    if not key.startswith(_PYTHON):
        return None
    file, _, line = key.removeprefix(_PYTHON).rpartition(":")
    return file, int(line)


def python_keys(keys: Iterable[str]) -> Keys:
    """Return the keys of lines of Python among `keys`."""
    return tuple(key for key in keys if key.startswith(_PYTHON))


def bytecode_key(compile_id: str, offset: int) -> str:
    """Return the key of an instruction in a frame's original bytecode."""
    return f"bc:{compile_id}:{offset}"


def node_key(stage: str, index: int, name: str) -> str:
    """Return the key of a node in the capture's graph number `index` of a stage."""
    return f"{_NODE}{stage}:{index}:{name}"


def node_keys_of_graph(keys: Iterable[str], index: int) -> Keys:
    """Return the keys of nodes among `keys`, each with `index` as the number of its graph."""
    parts = (key.split(":", 3) for key in keys if key.startswith(_NODE))
    return tuple(node_key(stage, index, name) for _, stage, _, name in parts)


def ir_key(unit: int, op: str, value: str = "") -> str:
    """Return the key of an operation in Inductor's IR, or of one `value` in its loop body."""
    return f"ir:{unit}:{op}:{value}" if value else f"ir:{unit}:{op}"


def kernel_key(unit: int, index: int, line: int) -> str:
    """Return the key of a line in a generated kernel."""
    return f"{_KERNEL}{unit}.{index}:{line}"


def is_kernel_key(key: str) -> bool:
    """Return whether the key belongs to a line of a kernel."""
    return key.startswith(_KERNEL)


def triton_key(stage: str, unit: int, index: int, place: str | int) -> str:
    """Return the key of a place in a stage that Triton made from a kernel. `place` is a position or
    ``line N``.
    """
    return f"{stage}:{unit}.{index}:{place}"


def merge_keys(key_lists: Iterable[Keys]) -> Keys:
    """Merge the keys of several lines, in order and without repetitions."""
    return tuple(dict.fromkeys(key for keys in key_lists for key in keys))
