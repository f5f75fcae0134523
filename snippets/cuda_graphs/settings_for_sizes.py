"""Which sizes get a CUDA graph: all, none of the dynamic ones, or those of a list.

Compiled once with one dynamic size; each size is called three times, and the table counts the
CUDA graphs that the third call launches. The last function has no dynamic size.
"""
# tclab: needs=cuda,triton

import logging

import torch
import torch._inductor.config as inductor
from _launches import launches

import tclab

begin = torch.compiler.cudagraph_mark_step_begin
SIZES = (64, 80, 96)


def chain(x, w):
    for _ in range(4):
        x = torch.relu(x @ w)
    return x


class Heard(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


def call(compiled, size, dynamic=True):
    """One call, a step of its own, with so many rows."""
    x = torch.randn(size, 256, device="cuda")
    if dynamic:
        torch._dynamo.mark_dynamic(x, 0)
    begin()
    result = compiled(x, w)
    torch.testing.assert_close(result, chain(x, w), rtol=1e-2, atol=1e-2)


def graphs_of(compiled, size, dynamic=True):
    """CUDA graphs that the third call with so many rows launches."""
    call(compiled, size, dynamic)
    call(compiled, size, dynamic)
    return launches(lambda: call(compiled, size, dynamic))[2]


def under(**settings):
    """For each size, and for a function without a dynamic one, the graphs under these settings."""
    torch._dynamo.reset()
    with inductor.patch({f"triton.{name}": value for name, value in settings.items()}):
        compiled = torch.compile(chain, mode="reduce-overhead")
        sizes = [graphs_of(compiled, size) for size in SIZES]
        torch._dynamo.reset()
        compiled = torch.compile(chain, mode="reduce-overhead", dynamic=False)
        return *sizes, graphs_of(compiled, SIZES[0], dynamic=False)


torch.manual_seed(0)
w = torch.randn(256, 256, device="cuda") * 0.05
launches(lambda: chain(w, w))
log, heard = logging.getLogger("torch._inductor.cudagraph_utils.__cudagraphs"), Heard()
log.addHandler(heard)
log.setLevel(logging.WARNING)
found = {
    "default": under(),
    "cudagraph_skip_dynamic_graphs": under(cudagraph_skip_dynamic_graphs=True),
    "cudagraph_capture_sizes=(64, 96)": under(cudagraph_capture_sizes=(64, 96)),
}
torch._dynamo.reset()
compiled, warned = torch.compile(chain, mode="reduce-overhead"), {}
for count in range(1, 11):
    heard.texts.clear()
    call(compiled, 64 + 16 * count)
    warned[count] = [text for text in heard.texts if "distinct sizes" in text]
tclab.show(tclab.Table(
    title="CUDA graphs of the third call", name="settings",
    columns=("setting", *(f"{size} rows" for size in SIZES), "64 rows, not dynamic"),
    rows=[(name, *row) for name, row in found.items()],
))  # fmt: skip
first = next((count for count, texts in warned.items() if texts), 0)
tclab.show(warned[first][0] if first else "", title=f"At size number {first}", name="warning")

# claim: by-default-all-sizes-get-one
assert found["default"] == (1, 1, 1, 1), found
# claim: dynamic-graphs-are-skipped
assert found["cudagraph_skip_dynamic_graphs"][:3] == (0, 0, 0), found
# claim: static-ones-are-not
assert found["cudagraph_skip_dynamic_graphs"][3] == 1, found
# claim: sizes-of-the-list-get-one
assert found["cudagraph_capture_sizes=(64, 96)"][:3] == (1, 0, 1), found
# claim: a-graph-without-a-size-gets-none
assert found["cudagraph_capture_sizes=(64, 96)"][3] == 0, found
# claim: the-ninth-size-warns
assert first == 9 and sum(map(bool, warned.values())) == 1, warned
