"""What a target for AMD lacks: not Triton, but the PyTorch that writes the kernels.

Triton's wheel compiles a kernel for an MI300X without the GPU, down to its instructions. Which
kernels there are is Inductor's choice, and Inductor asks `torch.version.hip`, an attribute of
Python: in some of these places when the module is imported.
"""
# tclab: needs=triton

import ast
from pathlib import Path

import torch
import torch._inductor
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tclab
from tclab import targets


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


pointers = dict.fromkeys(("x_ptr", "y_ptr", "out_ptr"), "*fp32")
source = ASTSource(
    add, signature={**pointers, "n": "i32", "BLOCK": "constexpr"}, constexprs={(4,): 256}
)
binary = triton.compile(source, target=GPUTarget("hip", "gfx942", 64))


def asks_hip(node):
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "torch.version.hip"


def places(tree):
    """How often the build is asked for HIP: when imported, and later, within functions."""
    in_all = sum(map(asks_hip, ast.walk(tree)))
    functions = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    later = {id(n) for f in functions for part in ast.iter_child_nodes(f)
             if part not in getattr(f, "decorator_list", ())
             for n in ast.walk(part) if asks_hip(n)}  # fmt: skip
    return in_all - len(later), len(later)


folder = Path(torch._inductor.__file__).parent
texts = [file.read_text(encoding="utf-8") for file in folder.rglob("*.py")]
counts = [places(ast.parse(text)) for text in texts if "torch.version.hip" in text]
imported, later = (sum(column) for column in zip(*counts))
tclab.show(
    tclab.Table(
        title="For an MI300X (gfx942), without one",
        name="amd",
        columns=("what", "is"),
        rows=[
            ("stages of Triton's compile", ", ".join(binary.asm)),
            ("files of Inductor that ask torch.version.hip", len(counts)),
            ("places that ask when imported", imported),
            ("places that ask later", later),
            ("torch.version.hip here", str(torch.version.hip)),
        ],
    )
)
instructions, end, _ = binary.asm["amdgcn"].partition("s_endpgm")
code = "".join(x for x in (instructions + end).splitlines(True) if not x.startswith("\t."))
tclab.show(tclab.Listing(title="AMDGCN of the kernel", name="amdgcn", code=code))

# claim: triton-compiles-for-amd-without-the-gpu
assert "amdgcn" in binary.asm and "global_store" in binary.asm["amdgcn"]
# claim: inductor-asks-for-the-build
assert imported + later > 20
# claim: some-of-it-when-imported
assert imported > 0
# claim: this-build-is-not-for-amd
assert torch.version.hip is None

try:
    targets.get("mi300x")
except targets.TargetError as error:
    refusal = str(error)
# claim: an-amd-name-says-why
assert "torch.version.hip" in refusal and "page Targets" in refusal
