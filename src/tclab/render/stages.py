"""Name the stages of a compile and their languages, and say which stages are machine code."""

from __future__ import annotations

#: Stage → its title above panes.
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
    "amdgcn": "AMDGCN",
}

#: Stages with long text in a compiler's or a machine's language.
MACHINE = frozenset({"asm", "ttir", "ttgir", "llir", "ptx", "sass", "amdgcn"})

_LANGUAGES = {
    "asm": "assembly", "ttir": "Triton IR", "ttgir": "TritonGPU IR", "llir": "LLVM IR",
    "ptx": "PTX", "sass": "SASS", "amdgcn": "AMDGCN", "bytecode": "bytecode", "ir": "Inductor IR",
    "ir_pre_fusion": "Inductor IR", "cpp": "C++", "python": "Python",
}  # fmt: skip


def language(stage: str, name: str) -> str:
    """Return the language of a listing in words. It is found by the listing's stage, or else by the
    name of its lexer; '' for plain text.
    """
    return _LANGUAGES.get(stage) or _LANGUAGES.get(name, "")


def label(stage: str) -> str:
    """Return the title of a stage."""
    return LABELS.get(stage, stage or "Code")
