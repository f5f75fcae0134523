"""From Inductor's C++ kernels to the CPU's instructions, each with the kernel's line it is from.

A kernel's file is compiled once more with the very command Inductor used, and with ``-g``, which
adds tables and changes no instruction. binutils' objdump reads the object: for each instruction
the line, and where that is inlined, up to the kernel's own.
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
_SECONDS = 120  # a compile that takes longer is given up


@dataclass(frozen=True)
class Assembly:
    """Instructions as text. `lines`: line of the text → line of the kernel, both from 1."""

    text: str
    lines: Mapping[int, int] = field(default_factory=dict)

    @property
    def instructions(self) -> int:
        """How many there are."""
        return sum(line.startswith(" ") for line in self.text.splitlines())


def assemble(kernel: str, commands: Commands) -> Assembly | None:
    """The instructions of a C++ kernel, given its source as Inductor wrote it, and the commands
    that Inductor compiled C++ files with.

    None where its compile was not seen, where there is no objdump, or where one of them fails.
    """
    code = kernel.strip("\n")
    text = next((text for text in commands if code in text), "")
    if not text or not shutil.which("objdump"):
        return None
    listing = _begun_listing(text) or _listing(text, commands[text])
    offset = text[: text.index(code)].count("\n")
    return _read(listing, offset, code.count("\n") + 1) if listing else None


def pane(kernel_name: str, assembly: Assembly, unit: int, index: int) -> Listing:
    """The instructions, linked to the kernel's lines."""
    origins = {n: (links.kernel(unit, index, line),) for n, line in assembly.lines.items()}
    title, name = f"Assembly of {kernel_name}", f"asm-{slug(kernel_name)}"
    return Listing(title, name, assembly.text, "nasm", "asm", links=origins)


# ------------------------------------------------------------------------------ ahead

#: The file of one kernel that Inductor compiles, not one that tries the CPU's instructions:
# extern "C"  void  kernel(const float* in_ptr0,
_IS_KERNEL = re.compile(r'^extern "C" +void +kernel\(', re.MULTILINE)

#: So many kernels are begun ahead: with more, PyTorch's own compile keeps all cores busy, and the
#: times in a report would be those of both.
_MOST_AHEAD = 2

#: Listings that were begun and nobody took yet, by the file's text.
_begun: dict[str, Future[str]] = {}


@contextmanager
def begun_ahead(most_lines: int | None) -> Iterator[None]:
    """Within the block, a kernel's file with at most so many lines is compiled for its instructions
    beside PyTorch's own compile of it, which the process would wait for with a core to spare.
    """

    def begin(text: str, command: str) -> None:
        long = most_lines is not None and text.count("\n") > most_lines
        known = text in _begun or not _IS_KERNEL.search(text)
        if not long and not known and len(_begun) < _MOST_AHEAD and shutil.which("objdump"):
            _begun[text] = pool.submit(_listing, text, command)

    _begun.clear()
    pool = ThreadPoolExecutor(1)
    try:
        with cpp_commands.notifying(begin):
            yield
    finally:
        pool.shutdown(wait=False)


def _begun_listing(text: str) -> str:
    """What was begun; '' where nothing was, or where it failed: its header may have come later."""
    begun = _begun.pop(text, None)
    return begun.result() if begun else ""


# ------------------------------------------------------------------------------ the tools


def _listing(text: str, command: str) -> str:
    """What objdump says of a file that this command compiles; '' where something fails."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        file.write_text(text, encoding="utf-8")
        return _objdump(file, command)


def _objdump(file: Path, command: str) -> str:
    """What objdump says of the file's object; '' where something fails."""
    binary = file.with_suffix(".o")
    compiler = [*_object_only(shlex.split(command), str(file)), "-o", str(binary)]
    intel = ["-M", "intel"] if platform.machine() in ("x86_64", "AMD64") else []
    reader = ["objdump", "-d", "-r", "-l", "--inlines", "-C", "--no-show-raw-insn", *intel]
    try:
        for call in (compiler, [*reader, str(binary)]):
            done = subprocess.run(
                call, capture_output=True, text=True, check=True, timeout=_SECONDS
            )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _object_only(command: list[str], file: str) -> list[str]:
    """The command with `file` in place of its own, that makes an object with tables."""
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
# What is called, of 70: R_X86_64_PLT32	std::ios_base::ios_base()-0x4
# std::ios_base::ios_base()
_SIGNATURE = re.compile(r"(?:<.*>|\[abi:\w+\])|\(.*$")


def _read(listing: str, offset: int, count: int) -> Assembly:
    """The functions that have lines of the kernel, which are `count` after the first `offset`."""
    text: list[str] = []
    lines: dict[int, int] = {}
    for name, body in _functions(listing):
        own = [(code, line - offset if line else 0) for code, line in body]
        if not any(1 <= line <= count for _, line in own):
            continue
        text += ["", f"{name}:"] if text else [f"{name}:"]
        for code, line in own:
            text.append(code)
            if 1 <= line <= count:
                lines[len(text)] = line
    return Assembly("\n".join(text) + "\n", lines)


def _functions(listing: str) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Each function's name and its instructions, with the outermost line of the file or 0."""
    name, body, line = "", list[tuple[str, int]](), 0
    for row in listing.splitlines():
        if match := _FUNCTION.match(row):
            if body:
                yield name, body
            name, body, line = match[1], [], 0
        elif _INSTRUCTION.match(row):
            body.append((_NOISE.sub("", row).rstrip(), line))
        elif body and (match := _RELOCATION.match(row)):
            body[-1] = (_with_symbol(body[-1][0], match["symbol"]), body[-1][1])
        elif _PLACE.match(row):  # the last place before an instruction is the outermost
            place = _LINE.search(row)
            line = int(place[1]) if place else 0
    if body:
        yield name, body


def _with_symbol(code: str, symbol: str) -> str:
    """A call with what it calls: in an object only the linker's note says that."""
    name = _SIGNATURE.sub("", symbol)  # a template's arguments fill a line each
    return _CALLED.sub(lambda match: (match[1] or match[2] or "") + name, code)
