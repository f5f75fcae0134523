"""What the stages of a compile are called, and which of them are machine code."""

from __future__ import annotations

#: How each stage is called above its panes.
LABELS = {
    "python": "Python",
    "bytecode": "Bytecode",
    "dynamo": "Dynamo graph",
    "joint": "Joint graph",
    "forward": "Forward graph",
    "backward": "Backward graph",
    "pre_grad": "Pre-grad graph",
    "post_grad": "Post-grad graph",
    "ir_pre_fusion": "IR before fusion",
    "ir": "Inductor IR",
    "wrapper": "Library call",
    "kernel": "Triton kernel",
    "cpp": "C++ kernel",
    "asm": "Assembly",
    "ttir": "TTIR",
    "ttgir": "TTGIR",
    "llir": "LLVM IR",
    "ptx": "PTX",
    "sass": "SASS",
}

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


def label(stage: str) -> str:
    """What a stage is called on a page."""
    return LABELS.get(stage, stage or "Code")
