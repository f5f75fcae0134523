"""From Inductor's Triton kernels to TTIR, TTGIR, LLVM IR, PTX and SASS, with or without a GPU.

A kernel's source builds the same autotuner it builds on the GPU, so its configurations are
Inductor's own. Where there are several, a GPU times them, and the one it launched is compiled
again for its stages; without the GPU the first is compiled. The kernel's facts say which.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tclab.capturing.machine_code.occupancy import occupancy
from tclab.capturing.read.output_code import unnumbered
from tclab.capturing.read.units import Compiled, CompiledKernel
from tclab.capturing.torch_private import autotuners
from tclab.errors import CaptureError
from tclab.model import Config, Configuration, Listing, Occupancy, Resources, slug
from tclab.scrub import scrub
from tclab.targets import architecture

#: Stage → Pygments lexer, title.
_TEXTS = {
    "ttir": ("mlir", "Triton IR"),
    "ttgir": ("mlir", "Triton GPU IR"),
    "llir": ("llvm", "LLVM IR"),
    "ptx": ("ptx", "PTX"),
    "sass": ("text", "SASS"),
}


#: The configurations that kernels were launched with, each a triton.Config, by their sources.
Launched = Mapping[str, Any]


@dataclass(frozen=True)
class Compiler:
    """Compiles the kernels of one capture, those with an equal body once: graph after graph may
    have the same, under another number. `gpu` is what an error names.
    """

    gpu: str
    _done: dict[tuple[str, str, int], CompiledKernel] = field(default_factory=dict)

    def kernels(self, sources: Mapping[str, str]) -> Compiled:
        """Triton kernels, sources by name, in the first of their configurations."""
        return {name: self._kernel(name, source) for name, source in sources.items()}

    def as_launched(self, sources: Mapping[str, str], launched: Launched) -> Compiled:
        """Those of the Triton kernels, sources by name, that the GPU that is here launched."""
        return {
            name: self._kernel(name, source, launched[source.strip()])
            for name, source in sources.items()
            if source.strip() in launched
        }

    def _kernel(self, name: str, source: str, launched: Any = None) -> CompiledKernel:
        """The tool fills a line with a section's name: only a name as long gives the same text."""
        key = unnumbered(name, source)[1], str(launched), len(name)
        if key not in self._done:
            self._done[key] = compile_kernel(name, source, self.gpu, launched)
        return _renamed(self._done[key], name, source)


def _renamed(kernel: CompiledKernel, name: str, source: str) -> CompiledKernel:
    """The same kernel under another name."""
    if kernel.name == name:
        return kernel
    stages = {
        stage: _listing(name, stage, listing.code.replace(kernel.name, name))
        for stage, listing in kernel.stages.items()
    }
    return replace(kernel, name=name, source=source, stages=stages)


def compile_kernel(name: str, source: str, gpu: str, launched: Any = None) -> CompiledKernel:
    """Compile one kernel, with the triton.Config it was launched with or else the first of its own.
    CaptureError, which names `gpu`, where Triton cannot.
    """
    autotuner = autotuners.build(name, source)
    configs = list(autotuner.configs)
    try:
        binary = autotuners.compile_config(autotuner, launched or configs[0])
    except Exception as error:
        raise CaptureError(
            f"kernel {name}",
            f"Triton cannot compile it for {gpu}: {_first_line(error)}",
            "see the kernel's source in Capture.kernels",
        ) from error
    printed = [stage for stage in ("ttir", "ttgir", "llir", "ptx") if stage in binary.asm]
    text = {stage: binary.asm[stage] for stage in printed}
    if "ptx" in text:
        text["ptx"] = _without_places(text["ptx"])
    listings = {s: _listing(name, s, code) for s, code in text.items()}
    ptx_lines: dict[int, int] = {}
    if cubin := binary.asm.get("cubin"):
        sass, ptx_lines = disassemble(cubin)
        listings["sass"] = _listing(name, "sass", sass)
    chosen = Configuration(config(launched or configs[0]), len(configs), launched is not None)
    candidates = tuple(map(config, configs))
    return CompiledKernel(name, source, chosen, listings, taken(binary), candidates, ptx_lines)


# .global .align 1 .b8 assertFile_0[36] = {47, 116, 109, 112, 47, 116, 111, 114, 99, 104};
_ASSERT_FILE = re.compile(r"^(\.global .*\bassertFile_\d+\[)\d+(\] = )\{([\d, ]+)\};", re.MULTILINE)
# 	.section	.debug_abbrev
_DEBUG = re.compile(r"^\t\.section\t\.debug_.*", re.MULTILINE | re.DOTALL)


def _without_places(ptx: str) -> str:
    """PTX without the file's place on this machine, which it holds byte by byte: in the debug
    sections at its end, and where an assert names its file.
    """

    def named(match: re.Match[str]) -> str:
        name = bytes(map(int, match[3].split(","))).rstrip(b"\0").decode("utf-8", "replace")
        return f'{match[1]}{match[2]}{{…}};  // "{scrub(name)}"'

    return _ASSERT_FILE.sub(named, _DEBUG.sub("", ptx))


def _first_line(error: Exception) -> str:
    return scrub(str(error)).strip().splitlines()[0][:200]


def config(tritons: Any) -> Config:
    """A triton.Config as a value."""
    constants = (
        (name, value if isinstance(value, (int, float, str)) else str(value))
        for name, value in tritons.kwargs.items()
    )
    return Config(tuple(constants), tritons.num_warps, tritons.num_stages)


def _listing(name: str, stage: str, code: str) -> Listing:
    language, title = _TEXTS[stage]
    text = scrub(code).rstrip() + "\n"
    return Listing(f"{title} of {name}", f"{stage}-{slug(name)}", text, language, stage)


# ------------------------------------------------------------------------------ the binary


# 	//## File ".nv_debug_ptx_txt", line 21
_PTX_LINE = re.compile(r'^\s*//## File "\.nv_debug_ptx_txt", line (\d+)')


#   REG:15 STACK:0 SHARED:1024 LOCAL:0 CONSTANT[0]:568 TEXTURE:0 SURFACE:0 SAMPLER:0
_USAGE = re.compile(r"\bREG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


def disassemble(cubin: bytes) -> tuple[str, dict[int, int]]:
    """SASS with the kernel's source lines between the instructions (``//## File …, line N``),
    and for each of its lines the line of the PTX that holds until the next one.
    """
    lines: list[str] = []
    ptx_lines: dict[int, int] = {}
    current = 0
    for line in _tool("nvdisasm", "-g", "-gp", "-c", cubin=cubin).splitlines():
        if match := _PTX_LINE.match(line):
            current = int(match[1])
            continue
        lines.append(line)
        current = 0 if line.lstrip().startswith(".section") else current
        if current:
            ptx_lines[len(lines)] = current
    return "\n".join(lines), ptx_lines


def taken(binary: Any) -> Resources | None:
    """What a kernel that Triton compiled takes of a multiprocessor; None without a binary.

    Shared memory is what Triton asks for at the launch; the binary says what the system keeps for
    itself.
    """
    if not (cubin := binary.asm.get("cubin")):
        return None
    used = resources(cubin)
    return replace(used, shared=binary.metadata.shared, occupancy=_occupancy(used, binary.metadata))


def resources(cubin: bytes) -> Resources:
    """Registers, stack, shared and local memory, as cuobjdump reads them from the binary."""
    text = _tool("cuobjdump", "--dump-resource-usage", cubin=cubin)
    usage = _USAGE.search(text)
    if usage is None:
        cause = f"says nothing of the kernel's registers: {text.strip()[:200]}"
        raise CaptureError("cuobjdump", cause, "is Triton installed completely?")
    registers, stack, shared, local = map(int, usage.groups())
    return Resources(registers, spilled=local, shared=shared, stack=stack)


def _occupancy(used: Resources, metadata: Any) -> Occupancy | None:
    """What follows from the resources; None for a GPU whose limits are not known."""
    if not (device := architecture(metadata.target.arch)):
        return None
    threads = metadata.num_warps * device.warp_size
    return occupancy(device, threads=threads, registers=used.registers, shared=metadata.shared)


def _tool(name: str, *options: str, cubin: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        done = subprocess.run(
            [autotuners.tool(name), *options, file], capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise CaptureError(
            name,
            f"cannot read the binary: {done.stderr.strip()[:200]}",
            "is Triton installed completely?",
        )
    return done.stdout
