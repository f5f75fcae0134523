"""What does not fit into a CUDA graph: run between two graphs, or the whole is skipped.

Each function is compiled with reduce-overhead and called four times. The reason is the text
PyTorch logs; the last column counts the graphs that the fourth call launches.
"""
# tclab: needs=cuda,triton

import logging

import torch
from _launches import launches
from torch._dynamo.utils import counters

import tclab


def on_the_gpu(x):
    return torch.relu(x) + 1


def goes_over_the_cpu(x):
    return torch.relu(x).cpu() + 1


def changes_its_input(x):
    x.add_(1)
    return torch.relu(x)


def waits_for_a_size(x):
    return x[x > 0] + 1


def breaks_in_the_middle(x):
    y = torch.relu(x)
    torch._dynamo.graph_break()
    return y + 1


class Reasons(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        text = record.getMessage()
        if "skipping cudagraphs" in text:
            self.texts.append(text.split("due to ", 1)[-1].split(". Found from")[0])


heard = Reasons()
log = logging.getLogger("torch._inductor.cudagraph_utils.__cudagraphs")
log.addHandler(heard)
log.setLevel(logging.WARNING)
torch._dynamo.config.capture_dynamic_output_shape_ops = True
found = {}
for fn in (on_the_gpu, goes_over_the_cpu, changes_its_input, waits_for_a_size,
           breaks_in_the_middle):  # fmt: skip
    heard.texts.clear()
    counters.clear()
    compiled = torch.compile(fn, mode="reduce-overhead")
    x = torch.randn(64, 4, device="cuda")
    for _ in range(3):
        torch.compiler.cudagraph_mark_step_begin()
        compiled(x.clone())
    fresh = x.clone()
    _, kernels, graphs = launches(lambda: compiled(fresh))
    reason = heard.texts[0].splitlines()[0] if heard.texts else ""
    found[fn.__name__] = (counters["inductor"]["cudagraph_skips"], reason, kernels, graphs)

tclab.show(tclab.Table(
    title="Skipped or not", name="skips",
    columns=("function", "skips", "what PyTorch says", "kernels", "CUDA graphs"),
    rows=[(name, *row) for name, row in found.items()],
))  # fmt: skip

# claim: a-function-on-the-gpu-is-one-graph
assert found["on_the_gpu"][0] == 0 and found["on_the_gpu"][3] == 1, found
# claim: work-on-the-cpu-stays-outside-its-graph
assert found["goes_over_the_cpu"][0] == 0 and found["goes_over_the_cpu"][3] == 1, found
# claim: a-size-that-depends-on-data-lies-between-two-graphs
assert found["waits_for_a_size"][0] == 0 and found["waits_for_a_size"][3] == 2, found
# claim: a-changed-input-skips
assert "mutated inputs" in found["changes_its_input"][1], found
# claim: a-changed-input-launches-kernels
assert found["changes_its_input"][2] >= 1 and not found["changes_its_input"][3], found
# claim: a-break-makes-two-graphs
assert found["breaks_in_the_middle"][3] == 2, found
