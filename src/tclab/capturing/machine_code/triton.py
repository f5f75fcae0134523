"""Compile Inductor's Triton kernels to TTIR, TTGIR, LLVM IR, PTX and SASS, or to AMDGCN, even
without a GPU.

Running a kernel's source makes the same autotuner as on the GPU, so the configurations are
Inductor's own. If there are several, a GPU times them; the configuration that it launched is then
compiled again to get its stages. Without a GPU the first configuration is compiled. The kernel's
facts name the configuration.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tclab.capturing.machine_code.occupancy import compute_occupancy
from tclab.capturing.read.output_code import strip_number
from tclab.capturing.read.units import Compiled, CompiledKernel
from tclab.capturing.torch_private import autotuners
from tclab.errors import CaptureError
from tclab.model import Config, Configuration, Listing, Occupancy, Resources, slug
from tclab.targets import Target, TargetError, architecture
from tclab.text.scrub import scrub

#: Stage → its Pygments lexer and title.
_STAGE_TITLES = {
    "ttir": ("mlir", "Triton IR"),
    "ttgir": ("mlir", "Triton GPU IR"),
    "llir": ("llvm", "LLVM IR"),
    "ptx": ("ptx", "PTX"),
    "amdgcn": ("amdgpu", "AMDGCN"),
    "sass": ("text", "SASS"),
}


#: Source of a kernel → the triton.Config that it was launched with.
Launched = Mapping[str, Any]


@dataclass(frozen=True)
class Compiler:
    """Compiles the kernels of one capture. Kernels with equal bodies are compiled once, because
    many graphs can have the same kernel under different numbers. Error messages name `gpu`.
    """

    gpu: str
    _compiled: dict[tuple[str, str, int], CompiledKernel] = field(default_factory=dict)

    def compile_kernels(self, sources: Mapping[str, str]) -> Compiled:
        """Compile Triton kernels, each with its first configuration. `sources` maps a kernel's name
        to its source.
        """
        return {name: self._compile_once(name, source) for name, source in sources.items()}

    def compile_launched(self, sources: Mapping[str, str], launched: Launched) -> Compiled:
        """Compile the Triton kernels that this machine's GPU launched. `sources` maps a kernel's
        name to its source.
        """
        return {
            name: self._compile_once(name, source, launched[source.strip()])
            for name, source in sources.items()
            if source.strip() in launched
        }

    def _compile_once(self, name: str, source: str, launched: Any = None) -> CompiledKernel:
        """Compile a kernel, or rename an equal one that was compiled before. The names must have
        the same length, because nvdisasm pads lines by their length.
        """
        key = strip_number(name, source)[1], str(launched), len(name)
        if key not in self._compiled:
            self._compiled[key] = compile_kernel(name, source, self.gpu, launched)
        return _rename_kernel(self._compiled[key], name, source)


def _rename_kernel(kernel: CompiledKernel, name: str, source: str) -> CompiledKernel:
    """Return a copy of a compiled kernel under another name."""
    if kernel.name == name:
        return kernel
    stages = {
        stage: _stage_listing(name, stage, listing.code.replace(kernel.name, name))
        for stage, listing in kernel.stages.items()
    }
    return replace(kernel, name=name, source=source, stages=stages)


def compile_kernel(
    name: str,
    source: str,
    gpu: str,
    launched: Any = None,
    check: Callable[[Any], None] | None = None,
) -> CompiledKernel:
    """Compile one kernel with the triton.Config `launched`; None stands for its first config.
    `check` is called with the autotuner before the compile. Raises CaptureError, which names `gpu`,
    if Triton cannot compile the kernel.
    """
    autotuner = autotuners.build_autotuner(name, source)
    if check:
        check(autotuner)
    configs = list(autotuner.configs)
    try:
        binary = autotuners.compile_config(autotuner, launched or configs[0])
    except Exception as error:
        raise CaptureError(
            f"kernel {name}",
            f"Triton cannot compile it for {gpu}: {_first_line(error)}",
            "see the kernel's source in Capture.kernels",
        ) from error
    printed = [stage for stage in _STAGE_TITLES if stage in binary.asm]
    text = {stage: binary.asm[stage] for stage in printed}
    if "ptx" in text:
        text["ptx"] = _strip_paths(text["ptx"])
    if "amdgcn" in text:
        text["amdgcn"] = text["amdgcn"].partition(_AMD_END)[0]
    listings = {s: _stage_listing(name, s, code) for s, code in text.items()}
    ptx_lines: dict[int, int] = {}
    if cubin := binary.asm.get("cubin"):
        sass, ptx_lines = disassemble(cubin)
        listings["sass"] = _stage_listing(name, "sass", sass)
    chosen = Configuration(
        convert_config(launched or configs[0]), len(configs), launched is not None
    )
    candidates = tuple(map(convert_config, configs))
    return CompiledKernel(
        name, source, chosen, listings, read_resources(binary), candidates, ptx_lines
    )


# .global .align 1 .b8 assertFile_0[36] = {47, 116, 109, 112, 47, 116, 111, 114, 99, 104};
_ASSERT_FILE = re.compile(r"^(\.global .*\bassertFile_\d+\[)\d+(\] = )\{([\d, ]+)\};", re.MULTILINE)
# 	.section	.debug_abbrev
_DEBUG = re.compile(r"^\t\.section\t\.debug_.*", re.MULTILINE | re.DOTALL)


#: What follows the instructions in AMDGCN: tables for the loader and the debugger.
_AMD_END = "\t.section\t"


def _strip_paths(ptx: str) -> str:
    """Remove this machine's paths from PTX. They are written as lists of byte values in the debug
    sections at the end and in the file names of asserts.
    """

    def shorten(match: re.Match[str]) -> str:
        name = bytes(map(int, match[3].split(","))).rstrip(b"\0").decode("utf-8", "replace")
        return f'{match[1]}{match[2]}{{…}};  // "{scrub(name)}"'

    return _ASSERT_FILE.sub(shorten, _DEBUG.sub("", ptx))


def _first_line(error: Exception) -> str:
    lines = scrub(str(error)).strip().splitlines()
    return (lines or [type(error).__name__])[0][:200]


def convert_config(triton_config: Any) -> Config:
    """Convert a triton.Config to tclab's Config."""
    constants = (
        (name, value if isinstance(value, (int, float, str)) else str(value))
        for name, value in triton_config.kwargs.items()
    )
    return Config(tuple(constants), triton_config.num_warps, triton_config.num_stages)


def _stage_listing(name: str, stage: str, code: str) -> Listing:
    language, title = _STAGE_TITLES[stage]
    text = scrub(code).rstrip() + "\n"
    return Listing(f"{title} of {name}", f"{stage}-{slug(name)}", text, language, stage)


# ------------------------------------------------------------------------------ the binary


# 	//## File ".nv_debug_ptx_txt", line 21
_PTX_LINE = re.compile(r'^\s*//## File "\.nv_debug_ptx_txt", line (\d+)')


#   REG:15 STACK:0 SHARED:1024 LOCAL:0 CONSTANT[0]:568 TEXTURE:0 SURFACE:0 SAMPLER:0
_USAGE = re.compile(r"\bREG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


def disassemble(cubin: bytes) -> tuple[str, dict[int, int]]:
    """Disassemble a binary. Return SASS with the kernel's source lines between the instructions
    (``//## File …, line N``), and a map from line numbers of SASS to the PTX lines that they come
    from.
    """
    lines: list[str] = []
    ptx_lines: dict[int, int] = {}
    current = 0
    for line in _run_tool("nvdisasm", "-g", "-gp", "-c", cubin=cubin).splitlines():
        if match := _PTX_LINE.match(line):
            current = int(match[1])
            continue
        lines.append(line)
        current = 0 if line.lstrip().startswith(".section") else current
        if current:
            ptx_lines[len(lines)] = current
    return "\n".join(lines), ptx_lines


def read_resources(binary: Any) -> Resources | None:
    """Return the resources of a kernel that Triton compiled, and its occupancy; None without a
    binary.

    `shared` is the number of bytes that Triton asks for at the launch; the binary has only the
    bytes that the system reserves.
    """
    if assembly := binary.asm.get("amdgcn"):
        return _read_amd_resources(assembly, binary.metadata.shared)
    if not (cubin := binary.asm.get("cubin")):
        return None
    used = read_usage(cubin)
    return replace(
        used, shared=binary.metadata.shared, occupancy=_compute_occupancy(used, binary.metadata)
    )


# ; NumVgprs: 18
# ; ScratchSize: 0
_AMD_USAGE = re.compile(r"^; (NumVgprs|ScratchSize): (\d+)", re.MULTILINE)


def _read_amd_resources(assembly: str, shared: int) -> Resources:
    """Return the vector registers of a lane and its scratch memory in bytes, as LLVM states them,
    and the bytes of LDS. The occupancy is not computed: no AMD device was compared.
    """
    used = {name: int(number) for name, number in _AMD_USAGE.findall(assembly)}
    return Resources(used["NumVgprs"], spilled=used["ScratchSize"], shared=shared, stack=0)


def read_usage(cubin: bytes) -> Resources:
    """Return cuobjdump's figures: registers per thread, and stack, shared and local memory in
    bytes.
    """
    text = _run_tool("cuobjdump", "--dump-resource-usage", cubin=cubin)
    usage = _USAGE.search(text)
    if usage is None:
        cause = f"says nothing of the kernel's registers: {text.strip()[:200]}"
        raise CaptureError("cuobjdump", cause, "is Triton installed completely?")
    registers, stack, shared, local = map(int, usage.groups())
    return Resources(registers, spilled=local, shared=shared, stack=stack)


def _compute_occupancy(resources: Resources, metadata: Any) -> Occupancy | None:
    """Return the occupancy with these resources; None for a GPU whose limits are not known."""
    if not (device := architecture(metadata.target.arch)):
        return None
    threads = metadata.num_warps * device.warp_size
    return compute_occupancy(
        device, threads=threads, registers=resources.registers, shared=metadata.shared
    )


#         'SM100','SM100a','SM101','SM101a','SM120',
_ARCHITECTURE = re.compile(r"'SM(\d+)'")


@cache
def known_architectures() -> frozenset[int]:
    """Return the architectures whose instructions Triton's nvdisasm can print, as Triton writes
    them (90 for 9.0). No others go down to SASS, even if Triton's assembler knows them.
    """
    return frozenset(map(int, _ARCHITECTURE.findall(_read_help())))


def _read_help() -> str:
    """Return what Triton's nvdisasm says of its options."""
    return subprocess.run(
        [autotuners.tool_path("nvdisasm"), "--help"], capture_output=True, text=True, check=False
    ).stdout


def check_target(target: Target) -> None:
    """Raise TargetError if no kernel for the target can go down to SASS with this Triton."""
    from triton import __version__ as version

    known = known_architectures()
    if not target.gfx and known and target.arch not in known:
        which = "an earlier" if target.arch < min(known) else "a later"
        raise TargetError(
            f"target {target.name!r}",
            f"nvdisasm, which Triton {version} brings, knows no sm_{target.arch}",
            f"use {which} PyTorch, whose Triton knows it, or name another target",
        )


def _run_tool(name: str, *options: str, cubin: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        completed = subprocess.run(
            [autotuners.tool_path(name), *options, file],
            capture_output=True,
            text=True,
            check=False,
        )
    if completed.returncode:
        raise CaptureError(
            name,
            f"cannot read the binary: {completed.stderr.strip()[:200]}",
            "is Triton installed completely?",
        )
    return completed.stdout
