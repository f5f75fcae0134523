"""Source positions in what five versions' Triton printed of one kernel, stage by stage.

The kernel's decorator is the file's line 18: ``xoffset = tl.program_id(0)`` is line 24, the mask
26, ``r0_index`` 27, the load 34, the maximum 36, ``tl.where`` 38, ``tl.sum`` 39, the store 40. Up
to Triton 3.7 (PyTorch 2.13) a column is that of the operator; from 3.8 on that of the expression,
counted from 1; and the kernel's end is no longer its last line but its first.
"""

from __future__ import annotations

from itertools import groupby

import pytest

from tclab.capturing.machine_code import positions, triton
from tclab.capturing.machine_code.positions import Position, Positions
from tests.samples.replay import VERSIONS, since, text

each_version = pytest.mark.parametrize("version", VERSIONS)

FILES = {"kernel.py": "", "standard.py": "std:", "triton_helpers.py": "max:"}


def spelled(several: tuple[Position, ...]) -> str:
    """``34:37|34:40`` is two positions, ``std:293:36<39:24`` one that is inlined at another."""
    return "|".join("<".join(f"{FILES[f]}{n}:{c}" for f, n, c in p) for p in several)


def shown(found: Positions) -> list[str]:
    """The positions from the first line to the last, ``×n`` where n lines have the same."""
    each = (spelled(found[number]) for number in sorted(found))
    runs = [(position, len(list(lines))) for position, lines in groupby(each)]
    return [position + (f"×{count}" if count > 1 else "") for position, count in runs]


#: Lines of library functions that are inlined: triton_helpers.maximum, tl.sum, its combination.
SUM_OF_3_7 = {"sum": "std:293:36", "+": "std:263:15"}
INLINED = {
    "2.11": {"compare": "max:116:15", "select": "max:119:29", **SUM_OF_3_7},
    "2.12": {"compare": "max:150:15", "select": "max:153:29", **SUM_OF_3_7},
    "2.13": {"compare": "max:169:15", "select": "max:172:29", **SUM_OF_3_7},
    "2.14": {"sum": "std:293:12", "+": "std:263:12"},  # tl.maximum is not a function in Python
    "2.15": {"sum": "std:314:12", "+": "std:287:12"},
}


def expected(by_version: dict[str, str], version: str) -> list[str]:
    """What is expected of a version, the names of inlined functions replaced by their lines."""
    written = since(by_version, version)
    return written.format_map(INLINED[version]).replace("\n", " ").split()


SUM = "{sum}<39:24"
PLUS = "{+}<{sum}<39:24"
NEW_SUM, NEW_PLUS = "{sum}<39:12", "{+}<{sum}<39:12"

TTIR = {
    "2.11": f"""18:0×2 24:28 26:21×2 27:28 27:38 34:40 34:37|34:40 34:37 34:30×2 34:45|26:21 34:45
        {{compare}}<36:40 {{select}}<36:40 38:33 {SUM} {PLUS} {SUM}×2 39:27 40:25×2 40:36 40:4
        18:0×2""",
    "2.14": f"""18:1×2 24:15 26:13×2 27:16×2 34:38 34:31|34:38 34:31 34:20×2 34:12|26:13 34:12
        36:12 38:12 {NEW_SUM} {NEW_PLUS} {NEW_SUM}×2 39:12 40:14×2 40:5 18:1×3""",
}
TTGIR = {
    "2.11": f"""18:0×2 24:28 26:21 27:38×2 34:40 34:37|34:40 34:37 34:30×2 34:45|26:21 34:45
        {{compare}}<36:40 {{select}}<36:40 38:33 {SUM} {PLUS} {SUM}×2 39:27×2 40:25 40:36×3 40:4
        18:0×2""",
    "2.12": f"""18:0×2 24:28 26:21×2 27:38×2 34:40 34:37|34:40 34:37 34:30×2 34:45|26:21 34:45
        {{compare}}<36:40 {{select}}<36:40 38:33 {SUM} {PLUS} {SUM}×2 39:27×2 40:25×2 40:36 40:4
        18:0×2""",
    "2.14": f"""18:1×2 24:15 26:13×2 27:16×2 34:38 34:31|34:38 34:31 34:20×2 34:12|26:13 34:12
        36:12 38:12 {NEW_SUM} {NEW_PLUS} {NEW_SUM}×2 39:12×2 40:14×2 40:5 18:1×3""",
}
STEPS = f"{SUM}×3 {PLUS} " * 5  # five shuffles of a warp, each with its addition
NEW_STEPS = f"{NEW_SUM}×3 {NEW_PLUS} " * 5
LLIR = {
    "2.11": f"""18:0 24:28 26:21 27:38×4 34:40 34:37 34:30×2 34:45×2 {{compare}}<36:40
        {{select}}<36:40 38:33 {STEPS} {SUM}×11 {PLUS} {SUM}×7 40:25×2 40:36×4 40:4""",
    "2.12": f"""18:0 24:28 26:21 27:38×4 34:40 34:37 34:30×2 34:45×2 {{compare}}<36:40 38:33×2
        {STEPS} {SUM}×12 {PLUS} {SUM}×7 40:25×2 40:36×3 40:4""",
    "2.13": f"""18:0 24:28 26:21 27:38×4 34:40 34:37 34:30×2 34:45×3 {{compare}}<36:40 38:33×2
        {STEPS} {SUM}×12 {PLUS} {SUM}×7 40:25×2 40:36×3 40:4""",
    "2.14": f"""18:0 24:15 26:13 27:16×2 34:38 34:31 34:20×2 34:12×3 36:12 38:12 {NEW_STEPS}
        {NEW_SUM}×13 {NEW_PLUS} 40:14×2 40:5×4 18:1""",
    "2.15": f"""18:0 24:15 26:13 27:16×2 34:38 34:31 34:20×2 34:12×3 36:12 38:12 {NEW_STEPS}
        {NEW_SUM}×12 {NEW_PLUS} 40:14×2 40:5×4 18:1""",
}
PTX_STEPS = f"{SUM} {PLUS} " * 5
NEW_PTX_STEPS = f"{NEW_SUM} {NEW_PLUS} " * 5
PTX = {
    "2.11": f"""18:0×2 24:28 26:21 27:38×3 34:40 34:37 34:30×2 34:45×2 {{compare}}<36:40
        {{select}}<36:40 38:33 {PTX_STEPS} {SUM}×12 {PLUS} {SUM}×7 40:25 40:36×4 40:4""",
    "2.12": f"""18:0×2 24:28 26:21 27:38×3 34:40 34:37 34:30×2 34:45×2 {{compare}}<36:40 38:33×2
        {PTX_STEPS} {SUM}×12 {PLUS} {SUM}×7 40:25 40:36×3 40:4""",
    "2.13": f"""18:0×2 24:28 26:21 27:38×3 34:40 34:37 34:30 34:45×5 {{compare}}<36:40 38:33×2
        {PTX_STEPS} {SUM}×12 {PLUS} {SUM}×7 40:25 40:36×3 40:4""",
    "2.14": f"""18:0×2 24:15 26:13 27:16×2 34:38 34:31 34:20 34:12×5 36:12 38:12 {NEW_PTX_STEPS}
        {NEW_SUM}×11 {NEW_PLUS} 40:14 40:5×3 18:1""",
}


@each_version
@pytest.mark.parametrize(
    ("stage", "by_version"), [("ttir", TTIR), ("ttgir", TTGIR), ("llir", LLIR)]
)
def test_positions_of_each_stage(version, stage, by_version):
    found = positions.READERS[stage](text(version, f"product.{stage}"))
    assert shown(found) == expected(by_version, version)


@each_version
def test_positions_of_ptx(version):
    found = positions.ptx_positions(triton._strip_paths(text(version, "product.ptx")))
    assert shown(found) == expected(PTX, version)


@each_version
def test_positions_of_amdgcn(version):
    code = text(version, "product.amdgcn").partition("\t.section\t")[0]
    lines = code.splitlines()
    found = positions.amdgcn_positions(code)

    def places(operation):
        """The kernel's lines of an operation's instructions, and how often they are inlined."""
        of = [n for n in found if operation in lines[n - 1].split()[0]]
        return {(found[n][0][-1][1], len(found[n][0])) for n in of}

    assert places("r_load_dword") | places("l_load_dword") == {(34, 1)}
    assert places("_store_dword") == {(40, 1)}
    assert (39, 3) in places("v_add_f32")
    assert set(found) <= {n for n, s in enumerate(lines, 1) if positions.is_amdgcn_instruction(s)}


@each_version
def test_lines_counted_inside_of_inline_assembly_are_not_the_kernels(version):
    """From Triton 3.8 on, the second line of assembly for line 34 is said to be from line 35."""
    ptx = text(version, "product.ptx")
    assert ("\t.loc\t1 35 12 " in ptx) == since({"2.11": False, "2.14": True}, version)
    lines = {line for found in positions.ptx_positions(ptx).values() for _, line, _ in found[0]}
    assert 35 not in lines


LOOPED = {
    "2.11": """18:0×2 25:21 30:43×2 23:28 25:21×2 26:27 26:37 30:43 31:31×2 32:29 36:46 36:41|36:46
        36:41 36:34×2 36:61|25:21 36:61 36:51 38:23 39:48 39:8 30:43 {sum}<40:25 {+}<{sum}<40:25
        {sum}<40:25×2 40:28 41:25×2 41:36 41:4 18:0×2""",
    "2.14": """18:1×2 25:13 30:5×2 23:15 25:13×2 26:15×2 30:5 31:20×2 32:19 36:42 36:35|36:42 36:35
        36:24×2 36:52|25:13 36:52 36:16 38:16 39:17 30:5×2 {sum}<40:12 {+}<{sum}<40:12
        {sum}<40:12×2 40:12 41:14×2 41:5 18:1×3""",
}


@each_version
def test_a_loops_first_line_has_the_position_of_its_last(version):
    code = text(version, "looped.ttir")
    found = positions.mlir_positions(code)
    assert shown(found) == expected(LOOPED, version)
    (loop,) = (n for n, line in enumerate(code.splitlines(), 1) if "scf.for" in line)
    assert spelled(found[loop]) == since({"2.11": "30:43", "2.14": "30:5"}, version)


@each_version
def test_the_kernels_file(version):
    assert positions.kernel_file(text(version, "product.ttir")) == "kernel.py"
