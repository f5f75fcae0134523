"""What nvdisasm, cuobjdump and objdump said of kernels that five versions made."""

from __future__ import annotations

import re

import pytest

from tclab.capturing.machine_code import cpp, positions, triton
from tclab.model import Resources
from tests.samples.replay import VERSIONS, since, text

each_version = pytest.mark.parametrize("version", VERSIONS)


@pytest.fixture
def tools(monkeypatch, version):
    """NVIDIA's tools say what they said when the samples were made."""
    said = {"nvdisasm": "product.sass", "cuobjdump": "product.usage"}
    monkeypatch.setattr(triton, "_run_tool", lambda name, *_, cubin: text(version, said[name]))


# ------------------------------------------------------------------------------ NVIDIA's

#: Instructions of the kernel, in order, and the instruction of the PTX that each is made from.
TELLING = {
    "S2R R*, SR_TID.X ;": "mov.u32 %r*, %tid.x;",
    "S2R R*, SR_CTAID.X ;": "mov.u32 %r*, %ctaid.x;",
    "LDG": "ld.global",
    "SHFL.BFLY PT, R*, R*, 0x10, 0x1f ;": "shfl.sync.bfly.b32 %r*, %r*, 16, 31, -1;",
    "SHFL.BFLY PT, R*, R*, 0x8, 0x1f ;": "shfl.sync.bfly.b32 %r*, %r*, 8, 31, -1;",
    "SHFL.BFLY PT, R*, R*, 0x4, 0x1f ;": "shfl.sync.bfly.b32 %r*, %r*, 4, 31, -1;",
    "SHFL.BFLY PT, R*, R*, 0x2, 0x1f ;": "shfl.sync.bfly.b32 %r*, %r*, 2, 31, -1;",
    "SHFL.BFLY PT, R*, R*, 0x1, 0x1f ;": "shfl.sync.bfly.b32 %r*, %r*, 1, 31, -1;",
    "BAR.SYNC.DEFER_BLOCKING 0x0 ;": "bar.sync 0;",
    "STG.E desc[UR*][R*.64], R* ;": "st.global.b32 [ %rd* + 0 ], { %r* };",
}


def plain(instruction: str) -> str:
    """An instruction without its address, its condition and the numbers of registers."""
    text = re.sub(r"/\*\w+\*/|\s@!?%?U?P\d", "", instruction)
    text = re.sub(r"(%rd?|\bU?R)\d+", r"\1*", text)
    text = re.sub(r"^@%p\d ", "", " ".join(text.split()))
    return re.sub(r"^(LDG|ld\.global)\b.*", r"\1", text)


@each_version
def test_each_instruction_has_its_line_of_ptx(version, tools):
    sass, ptx_lines = triton.disassemble(b"")
    ptx = triton._strip_paths(text(version, "product.ptx")).splitlines()
    pairs = [
        (plain(line), plain(ptx[ptx_lines[number] - 1]))
        for number, line in enumerate(sass.splitlines(), 1)
        if positions.is_instruction(line)
    ]
    assert {pair for pair in pairs if pair[0] in TELLING} == set(TELLING.items())
    assert [ptx for sass, ptx in pairs if sass == "EXIT ;"][-1] == "ret;"
    assert ".nv_debug_ptx_txt" not in sass


@each_version
def test_instructions_and_what_follows_them(version, tools):
    sass, _ = triton.disassemble(b"")
    lines = sass.splitlines()
    padding = positions.padding_lines(lines)
    code = [line for n, line in enumerate(lines, 1) if positions.is_instruction(line)
            and n not in padding]  # fmt: skip
    assert len(code) == since({"2.11": 51, "2.12": 50, "2.13": 56, "2.14": 49}, version)
    assert code[-1].split()[-2:] == ["EXIT", ";"]
    rest = [lines[n - 1].partition("*/")[2].strip() for n in sorted(padding)]
    assert rest[0] == "BRA `(.L_x_0);"
    assert set(rest[1:]) == {"NOP;"}


@each_version
@pytest.mark.usefixtures("tools")
def test_resources(version):
    registers = since({"2.11": 15, "2.14": 14}, version)
    assert triton.read_usage(b"") == Resources(registers, spilled=0, shared=1024, stack=0)


@each_version
def test_ptx_without_the_files_place(version):
    raw, ptx = text(version, "rows.ptx"), triton._strip_paths(text(version, "rows.ptx"))
    assert ".section\t.debug_" in raw
    assert ".debug_" not in ptx
    (file,) = (line for line in ptx.splitlines() if "assertFile_0[" in line)
    assert file == '.global .align 1 .b8 assertFile_0[] = {…};  // "<inductor-cache>/kernel.py"'
    kept = [line.partition(" = ")[0] for line in ptx.splitlines() if line.startswith(".global ")]
    assert [line.split()[-1] for line in kept] == [
        "assertFunc_0[8]", "assertFile_0[]", "assertMessage_0[35]",
    ]  # fmt: skip


# ------------------------------------------------------------------------------ objdump's

#: Line of the kernel and instruction: 13 (before, 11) loads, 14 (12) is the exponential, 17 (15)
#: adds, 18 (16) stores; newer kernels also look whether an integer was divided by zero.
BEFORE = """
    4    0: lea    r10,[rsp+0x8]
    4    5: and    rsp,0xffffffffffffffc0
    4    9: push   QWORD PTR [r10-0x8]
    4    d: push   rbp
    4    e: mov    rbp,rsp
    4   11: push   r10
    4   13: push   rbx
    4   14: mov    rbx,rsi
    4   17: sub    rsp,0x20
    11  1b: vmovups zmm0,ZMMWORD PTR [rdi]
    12  21: call   Sleef_expf16_u10
    15  26: vaddps zmm0,zmm0,DWORD BCST [rip+0x0]
    16  30: vmovups ZMMWORD PTR [rbx],zmm0
    6   36: vzeroupper
    21  39: add    rsp,0x20
    21  3d: pop    rbx
    21  3e: pop    r10
    21  40: pop    rbp
    21  41: lea    rsp,[r10-0x8]
    21  45: ret
    21  46: cs nop WORD PTR [rax+rax*1+0x0]"""
SINCE_2_13 = """
    4   d0: lea    r10,[rsp+0x8]
    4   d5: and    rsp,0xffffffffffffffc0
    4   d9: push   QWORD PTR [r10-0x8]
    4   dd: push   rbp
    4   de: mov    rbp,rsp
    4   e1: push   r12
    4   e3: push   r10
    4   e5: push   rbx
    4   e6: sub    rsp,0x98
    13  ed: vmovups zmm0,ZMMWORD PTR [rdi]
    4   f3: mov    rbx,rsi
    5   f6: mov    DWORD PTR [rbp-0x88],0x0
    14 100: call   Sleef_expf16_u10
    23 105: mov    rax,QWORD PTR [rip+0x0]
    17 10c: vaddps zmm0,zmm0,DWORD BCST [rip+0x0]
    23 116: mov    QWORD PTR [rax],0x0
    18 11d: vmovups ZMMWORD PTR [rbx],zmm0
    24 123: mov    eax,DWORD PTR [rbp-0x88]
    24 129: test   eax,eax
    24 12b: jne    131
    24 131: vzeroupper
    25 134: lea    rsp,[rbp-0x18]
    25 138: pop    rbx
    25 139: pop    r10
    25 13b: pop    r12
    25 13d: pop    rbp
    25 13e: lea    rsp,[r10-0x8]
    25 142: ret
    25 143: data16 cs nop WORD PTR [rax+rax*1+0x0]
    25 14e: xchg   ax,ax"""


@each_version
def test_instructions_of_a_cpp_kernel_and_their_lines(version):
    place, _, listing = text(version, "exponential.objdump").partition("\n")
    found = cpp._parse_listing(listing, *map(int, place.split()))
    rows = found.text.splitlines()
    assert rows[0] == "kernel:"  # without the Python module's functions around it
    shown = [f"{found.lines[n]} {row}".split() for n, row in enumerate(rows[1:], 2)]
    expected = since({"2.11": BEFORE, "2.13": SINCE_2_13}, version).strip().splitlines()
    assert shown == [line.split() for line in expected]
    assert found.instructions == len(expected)
