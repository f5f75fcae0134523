"""Matmul, bias, ReLU: two kernels by default, one from a template.

By default the matmul goes to cuBLAS, a closed library, and the ReLU is a kernel of its own.
`max_autotune` also writes matmul kernels from Triton templates; only into such a template can
the ReLU fuse. Which one wins is timed at compile time: the candidates are below.
"""
# tclab: needs=cuda alone=true timeout=300 memory=32768

import torch
from _launches import launched, relative_error
from torch._inductor.select_algorithm import add_feedback_saver, clear_feedback_savers
from torch._inductor.utils import fresh_cache

import tclab

M, N, K = 2048, 1024, 512


def f(x, w, b):
    return torch.relu(x @ w + b)


x = torch.randn(M, K, device="cuda", dtype=torch.bfloat16)
w = torch.randn(K, N, device="cuda", dtype=torch.bfloat16)
b = torch.randn(N, device="cuda", dtype=torch.bfloat16)
exact = f(x.double(), w.double(), b.double())

ways = {
    "default": {},
    "max_autotune": {"max_autotune": True},
    "templates only": {
        "max_autotune": True,
        "max_autotune_gemm_backends": "TRITON",
        "benchmark_epilogue_fusion": False,
    },  # fuse it without timing both
}
candidates, rows, captured = [], [], {}
add_feedback_saver(lambda timings, *rest: candidates.append(dict(timings)))
with torch.no_grad():
    for way, options in ways.items():
        with fresh_cache():  # so that autotuning happens here, not in an earlier run
            c = captured[way] = tclab.capture(f, options=options, dynamic=False)(x, w, b)
            assert relative_error(c.result, exact) < 1e-2
            compiled = torch.compile(f, options=options, dynamic=False)
            names = launched(compiled, x, w, b)
        rows.append((way, len(names), "; ".join(n.split("<")[0] for n in names)))
clear_feedback_savers()

assert [k.category for k in captured["default"].kernels].count("pointwise") == 1
assert rows[0][1] >= 2  # the library's matmul, then one kernel for bias and ReLU
assert rows[2][1] == 1  # one template, the epilogue inside
(template,) = [k for k in captured["templates only"].kernels if k.category == "template"]
assert "tl.dot(" in template.code and "maximum" in template.code

tclab.show(
    tclab.Table(title="What one call launches", columns=("options", "kernels", "names"), rows=rows),
    name="launches",
)
timings = [(t.name, t.description, ms * 1e3) for t, ms in candidates[0].items()]
timings.sort(key=lambda row: row[2])
assert len(timings) > 2
tclab.show(tclab.Table(
    title="Candidates timed under max_autotune, fastest first", rows=timings[:12],
    columns=("candidate", "configuration", "time"), units=("", "", "µs"), formats=("", "", ".1f"),
    caption=f"{len(timings)} were timed; the first {min(12, len(timings))} are shown"),
    name="candidates")  # fmt: skip
for way in ("default", "templates only"):
    tclab.show(captured[way].kernels, name=way.replace(" ", "-"))
