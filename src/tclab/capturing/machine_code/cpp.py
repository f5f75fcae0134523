"""Compile Inductor's C++ kernels to the CPU's instructions, each with its line of the kernel.

A kernel's file is compiled again with Inductor's own command and ``-g``, which adds tables and
changes no instruction. From the object file, binutils' objdump prints the line of each instruction,
and the lines of the calls through which it was inlined, up to the kernel's line.
"""

from __future__ import annotations

import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tclab.capturing.torch_private import cpp_commands
from tclab.capturing.torch_private.cpp_commands import Commands
from tclab.model import Listing, links, slug

_FILE = "kernel.cpp"
_SECONDS = 120  # the time limit of a compile, in seconds


@dataclass(frozen=True)
class Assembly:
    """Instructions as text. `lines` maps lines of the text to lines of the kernel, both from 1."""

    text: str
    lines: Mapping[int, int] = field(default_factory=dict)

    @property
    def instructions(self) -> int:
        """The number of instructions."""
        return sum(line.startswith(" ") for line in self.text.splitlines())


def assemble(kernel: str, commands: Commands) -> Assembly | None:
    """Compile a C++ kernel, given its source as Inductor wrote it, to instructions.

    `commands` maps a file's text to the command with which Inductor compiled it. Return None if
    there is no command for this kernel or no objdump, or if the compiler or objdump fails.
    """
    code = kernel.strip("\n")
    text = next((text for text in commands if code in text), "")
    if not text or not shutil.which("objdump"):
        return None
    listing = _take_pending(text) or _disassemble(text, commands[text])
    offset = text[: text.index(code)].count("\n")
    return _parse_listing(listing, offset, code.count("\n") + 1) if listing else None


def assembly_pane(kernel_name: str, assembly: Assembly, unit: int, index: int) -> Listing:
    """Make the pane of the instructions, linked to the kernel's lines."""
    origins = {n: (links.kernel_key(unit, index, line),) for n, line in assembly.lines.items()}
    title, name = f"Assembly of {kernel_name}", f"asm-{slug(kernel_name)}"
    return Listing(title, name, assembly.text, "nasm", "asm", links=origins)


# ------------------------------------------------------------------------------ ahead

#: A line in the file of a kernel, but not in the files that test which instructions the CPU has:
# extern "C"  void  kernel(const float* in_ptr0,
_IS_KERNEL = re.compile(r'^extern "C" +void +kernel\(', re.MULTILINE)

#: The most kernels to compile ahead. More of them would slow down PyTorch's own compile, whose
#: times the report shows.
_MOST_AHEAD = 2

#: File text → the listing that is being made. `assemble` removes it.
_pending_listings: dict[str, Future[str]] = {}


@contextmanager
def assembling_ahead(most_lines: int | None) -> Iterator[None]:
    """During the block, compile kernels of at most `most_lines` lines to instructions ahead of
    `assemble`, on a second core while the process waits for PyTorch's own compile of the same file.
    """

    def begin(text: str, command: str) -> None:
        long = most_lines is not None and text.count("\n") > most_lines
        skipped = text in _pending_listings or not _IS_KERNEL.search(text)
        if (
            not long
            and not skipped
            and len(_pending_listings) < _MOST_AHEAD
            and shutil.which("objdump")
        ):
            _pending_listings[text] = pool.submit(_disassemble, text, command)

    _pending_listings.clear()
    pool = ThreadPoolExecutor(1)
    try:
        with cpp_commands.notify(begin):
            yield
    finally:
        pool.shutdown(wait=False)


def _take_pending(text: str) -> str:
    """Wait for a listing that is being made; return '' if there is no such listing, or if making it
    failed because Inductor had not written a header yet.
    """
    pending = _pending_listings.pop(text, None)
    return pending.result() if pending else ""


# ------------------------------------------------------------------------------ the tools


def _disassemble(text: str, command: str) -> str:
    """Compile a text with this command; return objdump's listing, '' on failure."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        file.write_text(text, encoding="utf-8")
        return _compile_and_dump(file, command)


def _compile_and_dump(file: Path, command: str) -> str:
    """Compile a file with this command; return objdump's listing, '' on failure."""
    binary = file.with_suffix(".o")
    compiler = [*_object_command(shlex.split(command), str(file)), "-o", str(binary)]
    intel = ["-M", "intel"] if platform.machine() in ("x86_64", "AMD64") else []
    reader = ["objdump", "-d", "-r", "-l", "--inlines", "-C", "--no-show-raw-insn", *intel]
    try:
        for call in (compiler, [*reader, str(binary)]):
            completed = subprocess.run(
                call, capture_output=True, text=True, check=True, timeout=_SECONDS
            )
    except (OSError, subprocess.SubprocessError):
        return ""
    return completed.stdout


def _object_command(command: list[str], file: str) -> list[str]:
    """Return Inductor's command, changed to compile `file` to an object with debug tables."""
    words: list[str] = []
    for before, word in zip(["", *command], command):
        if before == "-o" or word in ("-o", "-shared", "-c") or word.startswith(("-l", "-L")):
            continue
        words.append(file if word.endswith(".cpp") else word)
    return [*words, "-c", "-g"]


# ------------------------------------------------------------------------------ reading

# 00000000000000d0 <kernel>:
_FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
# inlined by <tmp>/kernel.cpp:14 (kernel)
_LINE = re.compile(rf"{re.escape(_FILE)}:(\d+)")
# <tmp>/kernel.cpp:5
# inlined by <tmp>/kernel.cpp:14 (kernel)
_PLACE = re.compile(r"^(inlined by )?\S.*:\d+( \(.*\))?$")
#   ed:	vmovups zmm0,ZMMWORD PTR [rdi]
_INSTRUCTION = re.compile(r"^ +[0-9a-f]+:\t")
# 			101: R_X86_64_PLT32	Sleef_expf16_u10-0x4
_RELOCATION = re.compile(r"^\t+ *[0-9a-f]+: R_\w+\t(?P<symbol>[^.\s][^\n]*?)(?:[-+]0x[0-9a-f]+)?$")
# An address once more, as function and offset:
#  100:	call   105 <kernel+0x35>
#  105:	mov    rax,QWORD PTR [rip+0x0]        # 10c <kernel+0x3c>
_NOISE = re.compile(r" +(# [0-9a-f]+ )?<[^\n]*>$")
# The same line without it, on x86; on Arm the instruction is bl:
#  100:	call   105
_CALLED = re.compile(r"(?<=\tcall )( *)[0-9a-f]+$|(?<=\tbl\t)()[0-9a-f]+$")
# The parts of a symbol that are removed: template arguments, the ABI tag, the parameters.
# std::ios_base::ios_base() is shown as std::ios_base::ios_base
_SIGNATURE = re.compile(r"(?:<.*>|\[abi:\w+\])|\(.*$")


def _parse_listing(listing: str, offset: int, count: int) -> Assembly:
    """Parse the functions with lines of the kernel. The kernel has the `count` lines after the
    first `offset` lines of the file.
    """
    text: list[str] = []
    lines: dict[int, int] = {}
    for name, body in _split_functions(listing):
        numbered = [(code, line - offset if line else 0) for code, line in body]
        if not any(1 <= line <= count for _, line in numbered):
            continue
        text += ["", f"{name}:"] if text else [f"{name}:"]
        for code, line in numbered:
            text.append(code)
            if 1 <= line <= count:
                lines[len(text)] = line
    return Assembly("\n".join(text) + "\n", lines)


def _split_functions(listing: str) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield each function's name and instructions, each instruction with its outermost line in the
    file (0 without one).
    """
    name, body, line = "", list[tuple[str, int]](), 0
    for row in listing.splitlines():
        if match := _FUNCTION.match(row):
            if body:
                yield name, body
            name, body, line = match[1], [], 0
        elif _INSTRUCTION.match(row):
            body.append((_NOISE.sub("", row).rstrip(), line))
        elif body and (match := _RELOCATION.match(row)):
            body[-1] = (_show_called_function(body[-1][0], match["symbol"]), body[-1][1])
        elif _PLACE.match(row):  # the last place before an instruction is the outermost
            place = _LINE.search(row)
            line = int(place[1]) if place else 0
    if body:
        yield name, body


def _show_called_function(code: str, symbol: str) -> str:
    """Return a call instruction with the name of the called function, from the linker's
    relocation.
    """
    name = _SIGNATURE.sub("", symbol)  # remove template arguments, which are long
    return _CALLED.sub(lambda match: (match[1] or match[2] or "") + name, code)
