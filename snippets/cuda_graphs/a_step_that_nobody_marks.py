"""What a step is where nobody marks one, where it is marked once, and before each call.

Twelve calls with mode reduce-overhead; the program keeps each output. The first output's true sum
is 16. The last columns count what the twelfth call launches.
"""
# tclab: needs=cuda,triton

import warnings

import torch
from _launches import launches

import tclab

CALLS = 12
begin = torch.compiler.cudagraph_mark_step_begin


def step(x, w):
    return torch.relu(x) * 2 * w


def read(tensor):
    """The sum of an output, or why it cannot be read."""
    try:
        return tensor.sum().item()
    except RuntimeError as error:
        return str(error).splitlines()[0].split(". Stack trace")[0]


def called(marks, kept=True, gradient=False):
    """The first output read at the end, kernels and graphs of the last call, and any warning."""
    torch._dynamo.reset()  # no step is marked after it
    compiled = torch.compile(step, mode="reduce-overhead")
    w = torch.ones(8, device="cuda", requires_grad=gradient)
    outputs = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for number in range(CALLS):
            if number in marks:
                begin()
            x = torch.full((8,), 1.0 + number, device="cuda")
            result, kernels, graphs = launches(lambda x=x: compiled(x, w))
            if kept:
                outputs.append(result)
            del result
    said = [str(w.message) for w in heard if "fast path" in str(w.message)]
    first = read(outputs[0]) if kept else "not kept"
    return first, kernels, graphs, said[0] if said else ""


launches(lambda: torch.ones(1, device="cuda"))  # the profiler's own first time
found = {
    "nobody": called(()),
    "before each call": called(range(CALLS)),
    "once, at the start": called((0,)),
    "once, and no output is kept": called((0,), kept=False),
    "nobody, and a gradient is wanted": called((), gradient=True),
    "before each call, and a gradient is wanted": called(range(CALLS), gradient=True),
}
tclab.show(tclab.Table(
    title=f"{CALLS} calls", name="steps",
    columns=("who marks a step", "the first output", "kernels", "CUDA graphs", "warning"),
    rows=[(name, str(row[0]), *row[1:]) for name, row in found.items()],
))  # fmt: skip
nobody, each, once, dropped, pending, cured = found.values()

# claim: unmarked-each-call-is-a-step
assert nobody[2] == 1 and (nobody[0] != 16.0), nobody
# claim: as-where-each-is-marked
assert each[2] == 1 and each[0] != 16.0, each
# claim: marked-once-keeps-them-all
assert once[0] == 16.0, once
# claim: and-replays-nothing
assert once[2] == 0 and once[1] > 0, once
# claim: unless-outputs-are-dropped
assert dropped[2] == 1, dropped
# claim: a-pending-backward-stops-it
assert pending[2] == 0 and pending[1] > 0, pending
# claim: with-a-warning
assert "pending, uninvoked backwards" in pending[3], pending
# claim: which-a-mark-mends
assert cured[2] == 1 and not cured[3], cured
