"""A user's Triton kernel in a runnable is made again if it is no more than one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tclab.capturing.runnable.question import Question
from tclab.capturing.runnable.syntax import read_runnable
from tclab.errors import TclabError
from tests.capturing.runnable.sample import TEXT

TABLE = "torch._higher_order_ops.triton_kernel_wrap.kernel_side_table"
KERNELS = f"""
import triton
import triton.language as tl
{TABLE}.reset_table()
HALF = tl.constexpr(0.5)

@triton.jit
def halved(x):
    return x * HALF

@triton.autotune(
    configs=[
        triton.Config(
            {{'BLOCK': 64}},
            num_warps=2,
            num_stages=3,
        )
    ],
    key=[]
)
@triton.jit
def part_0(x, out, n, low: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # a comment of the user's
    tl.store(out + at, tl.maximum(halved(tl.load(x + at, at < n)), low), at < n)

{TABLE}.add_kernel(part_0)
{TABLE}.constant_args={{0: {{'n': 256, 'low': 0.0}}}}
"""
CALL = """torch.ops.higher_order.triton_kernel_wrapper_functional(kernel_idx = 0, \
constant_args_idx = 0, grid = [(4, 1, 1)], tma_descriptor_metadata = {}, \
kwargs = {'x': mm, 'out': arg2_1}, tensors_to_clone = ['out'])
        changed = mul['out']"""
GPU = ", device=device(type='cuda', index=0))"
INPUT = f"""    buf2 = reader.storage(None, 1024{GPU}
    reader.tensor(buf2, (8, 32), is_leaf=True)  # arg2_1
load_args._version"""
RUNNABLE = (
    TEXT.replace(f"{TABLE}.reset_table()\n", KERNELS)
    .replace("torch.ops.aten.mul.Tensor(mm, 2.0)", CALL)
    .replace("relu.default(mul)", "relu.default(changed)")
    .replace("arg1_1):", "arg1_1, arg2_1):")
    .replace(", 512)", f", 512{GPU}").replace(", 2048)", f", 2048{GPU}")
    .replace("load_args._version", INPUT)
)  # fmt: skip
WRITE = "open('MARK', 'w')"

#: What the file does → (text above, what stands there instead, part of the cause).
HOSTILE = {
    "a call in a kernel": ("halved(tl.load", f"halved({WRITE} + tl.load", "a value"),
    "a call in a helper": ("return x * HALF", f"return x * {WRITE}", "a value"),
    "a decorator": ("@triton.jit\ndef part_0", f"@{WRITE}\n@triton.jit\ndef part_0", "decorator"),
    "another decorator": ("@triton.jit\ndef halved", f"@{WRITE}\ndef halved", "not for Triton"),
    "a default": ("BLOCK: tl.constexpr)", f"BLOCK: tl.constexpr = {WRITE})", "default"),
    "an annotation": ("(x, out, n", f"(x: {WRITE}, out, n", "annotation"),
    "a walk over modules": ("tl.maximum(", "tl.core.os.system(", ".system"),
    "an attribute of Triton": ("tl.maximum(", "tl.core(", "tl.core is no operation"),
    "a constant that is a call": ("tl.constexpr(0.5)", f"tl.constexpr({WRITE})", "HALF"),
    "a configuration that is a call": ("{'BLOCK': 64}", f"{{'BLOCK': {WRITE}}}", "open"),
    "an option that is a call": ("num_warps=2", f"num_warps={WRITE}", "open"),
    "a kernel that is a call": ("add_kernel(part_0)", f"add_kernel({WRITE})", "add_kernel"),
    "arguments that are a call": ("'low': 0.0", f"'low': {WRITE}", "open"),
    "a kernel that is not there": ("kernel_idx = 0", "kernel_idx = 7", "kernel 7"),
    "a module of Triton's": ("import triton\n", "import triton.runtime\n", "triton.runtime"),
    "a name of Triton's": ("def halved(", "def range(", "replaces a name"),
}  # fmt: skip


def test_the_kernels_are_read() -> None:
    read = read_runnable(RUNNABLE).kernels
    assert [*read.functions] == ["halved", "part_0"] and read.launched == ("part_0",)
    assert [*read.constants] == ["isolate_fails_code_str", "HALF"] and [*read.arguments] == [0]


def test_inductor_writes_them_as_the_user_did() -> None:
    compiling = pytest.importorskip("tclab.capturing.runnable.compiling")
    code = compiling.compile_again(Question(RUNNABLE, target="h200", is_inference=True)).code
    assert "def part(x, out, n, low: tl.constexpr, BLOCK: tl.constexpr):" in code
    assert "# a comment of the user's" in code and "def halved(x):" in code
    assert "HALF = tl.constexpr(0.5)" in code and "'BLOCK': 64" in code


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_kernels_are_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling = pytest.importorskip("tclab.capturing.runnable.compiling")
    monkeypatch.chdir(tmp_path)
    old, new, cause = HOSTILE[name]
    assert old in RUNNABLE
    with pytest.raises(TclabError) as refused:
        compiling.compile_again(
            Question(RUNNABLE.replace(old, new, 1), target="h200", is_inference=True)
        )
    assert cause in refused.value.cause
    assert not [*tmp_path.iterdir()]
