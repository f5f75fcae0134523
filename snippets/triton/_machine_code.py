"""From a compiled Triton kernel to listings of every stage, each line linked to the Python line."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import triton

import tclab

LANGUAGES = {"ttir": "text", "ttgir": "text", "llir": "llvm", "ptx": "ptx", "sass": "text"}
TITLES = {"ttir": "Triton IR", "ttgir": "TritonGPU IR", "llir": "LLVM IR", "ptx": "PTX",
          "sass": "SASS, the machine code"}  # fmt: skip


def disassemble(cubin: bytes) -> str:
    """SASS of a CUDA binary with a ``//## File "…", line N`` comment where the line changes."""
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/nvdisasm"
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder) / "kernel.cubin").write_bytes(cubin)
        done = subprocess.run([tool, "-g", "-c", path], capture_output=True, text=True, check=True)
    return done.stdout


def stages(asm: dict[str, str | bytes], file: str) -> dict[str, tclab.Listing]:
    """Listings by stage of one compiled kernel (`CompiledKernel.asm`).

    `file` is how links name the Python file: ``py:<file>:<line>`` is the key of a line.
    """
    text = {stage: str(asm[stage]) for stage in ("ttir", "ttgir", "llir", "ptx")}
    text["sass"] = disassemble(asm["cubin"])
    return {stage: _listing(stage, code, file) for stage, code in text.items()}


def _listing(stage: str, code: str, file: str) -> tclab.Listing:
    lines = list(_READERS[stage](code))
    links = {n: (f"py:{file}:{py}",) for n, (_, py) in enumerate(lines, 1) if py}
    body = "\n".join(line for line, _ in lines)
    return tclab.Listing(title=TITLES[stage], name=stage, code=body, stage=stage,
                         language=LANGUAGES[stage], links=links)  # fmt: skip


def _mlir(code: str):
    """Lines of MLIR without their locations, and the Python line each location leads to."""
    aliases = dict(re.findall(r"^#(loc\d*) = loc\((.*)\)$", code, re.MULTILINE))

    def line_of(alias: str, depth: int = 0) -> int | None:
        found = aliases.get(alias, "")
        if direct := re.search(r'"[^"]*\.py":(\d+):', found):
            return int(direct[1])
        inner = re.search(r"#(loc\d*)", found)
        return line_of(inner[1], depth + 1) if inner and depth < 8 else None

    for line in code.splitlines():
        if not line.strip() or line.startswith("#loc"):
            continue
        tail = re.search(r"loc\(#(loc\d*)\)$", line.rstrip())
        clean = re.sub(r' loc\((?:"[^"]*"\()?#loc\d*\)?\)', "", line)
        yield clean, line_of(tail[1]) if tail and "tt.func" not in line else None


def _llvm(code: str):
    """LLVM IR without debug metadata, whose chain of scopes leads to the line."""
    lines = dict(re.findall(r"^!(\d+) = !DILocation\(line: (\d+)", code, re.MULTILINE))
    for line in code.splitlines():
        if not line.strip() or line.startswith(("!", "source_filename", "; ModuleID")):
            continue
        place = re.search(r", !dbg !(\d+)$", line)
        py = int(lines.get(place[1], 0)) if place else 0
        yield re.sub(r"(?:, )?!dbg !\d+", "", line), py or None


def _ptx(code: str):
    """PTX without its debug sections; `.loc` says the line of what follows."""
    py = None
    for line in code.splitlines():
        if line.lstrip().startswith((".section", ".file")):
            break  # what follows describes the program for debuggers
        if where := re.match(r"\s*\.loc\s+\d+\s+(\d+)", line):
            py = int(where[1]) or None
        elif line.strip() and not re.match(r"\s*(//|\$L__tmp|\$L__func)", line):
            yield line.split("//")[0].rstrip(), py if line.startswith("\t") else None


def _sass(code: str):
    """Instructions of the disassembly; its comments say the line of what follows."""
    py = None
    for line in code.splitlines():
        if where := re.search(r'//## File "[^"]*", line (\d+)', line):
            py = int(where[1])
        elif re.match(r"\s*/\*[0-9a-f]+\*/", line) and "NOP;" not in line:
            yield line.strip(), py
        elif re.match(r"\.L_x_\d+:", line):
            yield line.strip(), None


_READERS = {"ttir": _mlir, "ttgir": _mlir, "llir": _llvm, "ptx": _ptx, "sass": _sass}
