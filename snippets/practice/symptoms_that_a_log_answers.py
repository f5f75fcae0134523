"""A symptom, the log to ask, and the line to look for.

Each program runs in a process of its own with TORCH_LOGS set as the table says.
"""

import torch
from _child import logged
from torch import nn

import tclab


class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.number = 0

    def forward(self, x):
        return x * self.number


def training(steps):
    compiled = torch.compile(model := Step(), backend="eager")
    for model.number in range(steps):
        compiled(torch.ones(4))


def a_break(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()


def a_break_in_a_loop(x):
    for _ in range(3):
        x = x.sin()
        torch._dynamo.graph_break()
    return x


def two_breaks(x):
    y = x.sin()
    torch._dynamo.graph_break()
    y = y.cos()
    torch._dynamo.graph_break()
    return y.tan()


def row_by_row(x):
    return sum(x[row] * row for row in range(x.shape[0]))


def data_decides(x):
    return x + 1 if x.sum() > 0 else x - 1


def size_decides(x):
    return x.sin() if x.shape[0] > 2 else x.cos()


def called(fn, *sizes, dynamic=None):
    compiled = torch.compile(fn, backend="eager", dynamic=dynamic)
    for size in sizes:
        compiled(torch.ones(size, 4))


SYMPTOMS = {
    "It compiles at every step": ("recompiles", "self.number ==", training, 3),
    "It was fast, now it is slow": ("", "recompile_limit (", training, 10),
    "There are several graphs, not one": ("graph_breaks", "user code at", called, a_break, 2),
    "It is compiled, and as slow as before": (
        *("graph_breaks,graph_code", "falling back to eager", called, a_break_in_a_loop, 2),
    ),
    "A branch is taken by a tensor": ("graph_breaks", "x.sum() > 0", called, data_decides, 2),
    "It compiles for each batch size": ("dynamic", "[guard added]", called, row_by_row, 2, 3, 4),
    "A size is compared with a number": ("dynamic", "[guard added]", called, size_decides, 3, 4),
}
found, graphs, texts = {}, {}, {}
_, told = logged("graph_breaks", called, two_breaks, 2)
_, of_fixed = logged("dynamic", lambda: called(row_by_row, 2, 3, 4, dynamic=False))
_, unasked = logged("", called, a_break_in_a_loop, 2)
for symptom, (logs, marker, job, *args) in SYMPTOMS.items():
    _, records = logged(logs, job, *args)
    lines = [line.strip() for _, message in records for line in message.splitlines()]
    found[symptom] = next((line for line in lines if marker in line), "nothing")
    texts[symptom] = "\n".join(lines)
    graphs[symptom] = sum(name == "graph_code" for name, _ in records)
breaks = [f"answers.py:{two_breaks.__code__.co_firstlineno + below}\n" for below in (2, 4)]

tclab.show(
    tclab.Table(
        title="What the log says",
        name="lines",
        columns=("symptom", "TORCH_LOGS=", "line"),
        rows=[(name, SYMPTOMS[name][0] or "not set", line[:120]) for name, line in found.items()],
    )
)

# claim: the-guard-that-failed
assert "0/0: self.number == 0" in found["It compiles at every step"]
# claim: the-limit-is-a-warning
assert "hit config.recompile_limit (8)" in found["It was fast, now it is slow"]
assert "self.number ==" in texts["It was fast, now it is slow"]
# claim: the-line-of-the-break
assert (
    f"answers.py:{a_break.__code__.co_firstlineno + 2}"
    in found["There are several graphs, not one"]
)
# claim: each-break-is-told
assert all(any(place in text for _, text in told) for place in breaks)
# claim: a-function-given-up
assert "Skipping" in found["It is compiled, and as slow as before"]
# claim: unasked-it-is-not-said
assert not unasked
# claim: of-which-there-is-no-graph
assert graphs["It is compiled, and as slow as before"] == 0
# claim: the-branch-is-quoted
assert "x + 1 if x.sum() > 0" in found["A branch is taken by a tensor"]
# claim: the-source-of-the-symbol
assert "for L['x'].size()[0]" in texts["It compiles for each batch size"]
# claim: the-line-that-fixed-the-size
assert "in range(x.shape[0])" in found["It compiles for each batch size"]
# claim: of-fixed-sizes-it-says-nothing
assert of_fixed and not any("symbol " in text or "[guard added]" in text for _, text in of_fixed)
# claim: the-line-that-asked
assert "if x.shape[0] > 2" in found["A size is compared with a number"]
