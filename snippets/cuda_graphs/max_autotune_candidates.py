"""max-autotune: the candidates for one matrix product, as timed.

Inductor measures the library's product and its own Triton templates on this GPU and keeps the
quickest. The times are its own, from the choices it reports.
"""
# tclab: needs=cuda,triton timeout=300 memory=65536 alone=true

import torch
from torch._inductor.select_algorithm import add_feedback_saver, clear_feedback_savers

import tclab


def product(x, w, bias):
    return torch.relu(x @ w + bias)


timed = []


def keep(timings, name, *_):
    rows = [(choice.name.rstrip("0123456789_") or choice.name, choice.name, ms)
            for choice, ms in timings.items()]
    timed.append((name, sorted(rows, key=lambda row: row[2])))


add_feedback_saver(keep)
torch.manual_seed(0)
x = torch.randn(2048, 1024, device="cuda", dtype=torch.bfloat16)
w = torch.randn(1024, 4096, device="cuda", dtype=torch.bfloat16) * 0.03
bias = torch.randn(4096, device="cuda", dtype=torch.bfloat16)
result = torch.compile(product, mode="max-autotune-no-cudagraphs")(x, w, bias)
exact = torch.relu(x.double() @ w.double() + bias.double())
error = ((result - exact).norm() / exact.norm()).item()
clear_feedback_savers()

name, rows = timed[0]
best = rows[0][2]
library = min((ms for kind, _, ms in rows if not kind.startswith("triton")), default=None)
tclab.show(tclab.Table(
    title=f"Candidates for one {name}", name="candidates",
    columns=("place", "candidate", "time", "against the best"), units=("", "", "µs", "×"),
    formats=("d", "", ".1f", ".2f"),
    rows=[(i, full, 1e3 * ms, ms / best) for i, (_, full, ms) in enumerate(rows, 1)][:12],
))  # fmt: skip
tclab.show(tclab.Table(
    title="How many, and how far apart", name="spread",
    columns=("what", "count"), formats=("", ".2f"),
    rows=[("candidates", len(rows)), ("of them the library's",
          sum(not kind.startswith("triton") for kind, _, _ in rows)),
          ("slowest against best", rows[-1][2] / best),
          ("library against best", library / best if library else None)],
))  # fmt: skip

# claim: the-result-is-right
assert error < 1e-2, error
# claim: templates-and-the-library-compete
assert any(kind.startswith("triton") for kind, _, _ in rows) and library is not None, rows
# claim: candidates-differ-by-more-than-half
assert rows[-1][2] > 1.5 * best, rows
