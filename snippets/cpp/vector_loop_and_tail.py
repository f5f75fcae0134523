"""The C++ loop: a vector at a time, then a tail.

1003 elements, and a vector register holds a fixed number of them. The loop takes whole vectors;
the last step loads and stores only what is left, so it never touches memory past the tensor.
For a narrower register the same function gets the same loop with another step: the step stands in
the source as a number.
"""

import re

import torch
from torch._inductor.cpu_vec_isa import pick_vec_isa, valid_vec_isa_list

import tclab

N = 1003


def f(x):
    return torch.sigmoid(x) * x + 1.0


x = torch.randn(N)
isa = pick_vec_isa()
lanes = isa.nelements(torch.float32)  # float32 elements in one vector register
assert lanes > 1 and N % lanes, "this machine has no vector unit PyTorch knows"

c = tclab.capture(f, options={"cpp.threads": 1})(x)
(kernel,) = c.kernels
assert torch.allclose(c.result, f(x))
body, tail = re.findall(r"loadu\(in_ptr0 \+ [^,]+, static_cast<int64_t>\((\d+)L?\)\)", kernel.code)
# claim: the-step-is-one-register
assert f"+=static_cast<int64_t>({lanes}L)" in kernel.code and int(body) == lanes
# claim: the-tail-counts-what-is-left
assert int(tail) == N % lanes and "C10_UNLIKELY" in kernel.code
ways = r"C10_(LIKELY|UNLIKELY)\(.*?loadu\(in_ptr0 \+ [^,]+, static_cast<int64_t>\((\d+)L?\)\)"
# claim: the-body-is-likely-the-tail-is-not
assert re.findall(ways, kernel.code, re.DOTALL) == [("LIKELY", body), ("UNLIKELY", tail)]
# claim: one-load-and-one-store-each
assert kernel.code.count("in_ptr0 +") == 2 and kernel.code.count(".store(out_ptr0") == 2
# claim: one-thread-was-asked-for
assert "#pragma omp" not in kernel.code
steps, sources = [], []
for each in valid_vec_isa_list():
    options = {"cpp.threads": 1, "cpp.simdlen": each.bit_width()}
    code = tclab.capture(f, options=options)(x).kernels[0].code
    sources.append(code)
    step = re.search(r"x0\+=static_cast<int64_t>\((\d+)L\)", code)[1]
    steps.append((str(each), each.nelements(torch.float32), int(step)))
# claim: the-step-is-in-the-source
assert steps and all(elements == step for _, elements, step in steps)
# claim: one-type-for-every-register
assert all("at::vec::Vectorized<float>::loadu(" in code for code in sources)

tclab.show(kernel, name="kernel")
rows = [
    ("instruction set Inductor chose", str(isa)),
    ("float32 elements in a vector", lanes),
    ("whole vectors", N // lanes),
    ("elements in the tail", N % lanes),
]
tclab.show(tclab.Table(title="1003 elements on this machine", columns=("what", "here"), rows=rows))
columns = ("instruction set", "float32 elements in a vector", "step in the source")
tclab.show(tclab.Table(title="Instruction sets of this machine", columns=columns, rows=steps))
