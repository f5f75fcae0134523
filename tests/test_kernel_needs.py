"""What `benchmarks.kernel_needs` counts in machine code and in a generated module."""

from __future__ import annotations

import pytest

from benchmarks import kernel_needs

SASS = """
        /*0000*/                   S2R R0, SR_TID.X ;
.L_x_0:
        /*0010*/                   LDG.E.EF.64 R2, desc[UR4][R2.64] ;
        /*0020*/                   FADD R4, R4, R2 ;
        /*0030*/              @!P1 BRA `(.L_x_0) ;
        /*0040*/                   MUFU.EX2 R5, R4 ;
        /*0050*/                   EXIT ;
.L_x_1:
        /*0060*/                   BRA `(.L_x_1);
"""

# Four bfloat16 of 64 bits a thread and round: 256 numbers of a row of 1024 for 64 threads.
KERNEL = """
    triton_meta={'signature': {'in_ptr0': '*bf16', 'out_ptr0': '*fp32', 'xnumel': 'i32'}},
def triton_red_0(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 16
    r0_numel = 1024
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        tmp0 = tl.load(in_ptr0 + (r0_1 + 1024*x0), r0_mask, other=0.0)
    tl.store(out_ptr0 + (x0), tmp4, xmask)
"""

WRAPPER = """
        buf0 = empty_strided_cuda((16, ), (1, ), torch.float32)
        triton_red_0.run(arg0_1, buf0, 16, 1024, stream=stream0)
    arg0_1 = rand_strided((16, 1024), (1024, 1), device='cuda:0', dtype=torch.bfloat16)
"""


def test_a_loop_ends_where_it_jumps_back() -> None:
    opcodes, loops = kernel_needs.instructions(SASS)
    assert opcodes[-1] == "EXIT"
    assert [(opcodes[first], opcodes[last]) for first, last in loops] == [("LDG.E.EF.64", "BRA")]


def test_a_loops_body_counts_as_often_as_it_runs() -> None:
    settings = {"XBLOCK": 1, "R0_BLOCK": 256, "num_warps": 2}
    counts = kernel_needs.executed(KERNEL, settings, SASS)
    assert counts == {"none": 1 + 4 + 1, "memory": 4, "float": 4, "special": 1}


@pytest.mark.parametrize(
    ("opcode", "bits"), [("LDG.E.EF.64", 64), ("LDG.E.EL.U16", 16), ("LDG.E", 32)]
)
def test_the_width_of_a_load(opcode: str, bits: int) -> None:
    assert kernel_needs.width(opcode) == bits


def test_bytes_are_those_of_the_arguments() -> None:
    ((name, arguments),) = kernel_needs.launches(WRAPPER)
    assert name == "triton_red_0"
    assert kernel_needs.moved(KERNEL, arguments, kernel_needs.sizes(WRAPPER)) == 16 * 1024 * 2 + 64
