"""What the stages of a compile are called, and which of them are machine code."""

from __future__ import annotations

#: Stages whose text needs no markup to be read, and is long.
MACHINE = frozenset({"asm", "ttir", "ttgir", "llir", "ptx", "sass"})

_LANGUAGES = {
    "asm": "assembly", "ttir": "Triton IR", "ttgir": "TritonGPU IR", "llir": "LLVM IR",
    "ptx": "PTX", "sass": "SASS", "bytecode": "bytecode", "ir": "Inductor IR",
    "ir_pre_fusion": "Inductor IR", "cpp": "C++", "python": "Python",
}  # fmt: skip


def language(stage: str, name: str) -> str:
    """What a listing is written in, for a reader; '' for plain text."""
    return _LANGUAGES.get(stage) or _LANGUAGES.get(name, "")
