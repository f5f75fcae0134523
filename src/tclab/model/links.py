"""The keys that lines are linked by: what each kind looks like is said here and nowhere else.

``py:<file>:<line>``, ``bc:<compile>:<offset>``, ``fx:<stage>:<index>:<node>``,
``ir:<unit>:<op>[:<value>]``, ``kernel:<unit>.<kernel>:<line>`` and, below the kernel,
``ttir:<unit>.<kernel>:<position>`` and so on. A unit is one graph that Inductor compiled, a
kernel one of its kernels, both counted from 0.
"""

from __future__ import annotations

from collections.abc import Iterable

Keys = tuple[str, ...]

_PYTHON, _KERNEL = "py:", "kernel:"


def python(file: str, line: int) -> str:
    """A line of Python."""
    return f"{_PYTHON}{file}:{line}"


def python_line(key: str) -> tuple[str, int] | None:
    """File and line of a Python line's key; None for any other key."""
    if not key.startswith(_PYTHON):
        return None
    file, _, line = key.removeprefix(_PYTHON).rpartition(":")
    return file, int(line)


def bytecode(compile_id: str, offset: int) -> str:
    """An instruction of the original bytecode of a frame."""
    return f"bc:{compile_id}:{offset}"


def node(stage: str, index: int, name: str) -> str:
    """A node of the graph number `index` that the capture shows of a stage."""
    return f"fx:{stage}:{index}:{name}"


def ir(unit: int, op: str, value: str = "") -> str:
    """An operation of the IR, or one value of its loop body."""
    return f"ir:{unit}:{op}:{value}" if value else f"ir:{unit}:{op}"


def kernel(unit: int, index: int, line: int) -> str:
    """A line of a generated kernel."""
    return f"{_KERNEL}{unit}.{index}:{line}"


def is_kernel(key: str) -> bool:
    """Whether the key is that of a kernel's line."""
    return key.startswith(_KERNEL)


def below(stage: str, unit: int, index: int, place: str | int) -> str:
    """A place in what Triton made of a kernel: a position, or ``line N``."""
    return f"{stage}:{unit}.{index}:{place}"


def joined(several: Iterable[Keys]) -> Keys:
    """All keys, each once, in order."""
    return tuple(dict.fromkeys(key for keys in several for key in keys))
