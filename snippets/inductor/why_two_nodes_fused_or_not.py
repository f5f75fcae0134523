"""Why two nodes fused, or did not, on a CPU.

The scheduler fuses two nodes when they share data, loop over the same ranges and nothing else
has to run between them. Each case below is one function; the scheduler's own log says what it
considered and why it refused. *Declared bytes* add up what the nodes read and write.
"""

import math
import re

import torch
from _ir import megabytes, nodes

import tclab


def siblings(x, y):
    return torch.sin(x), torch.cos(x)  # both read x


def strangers(x, y):
    return torch.sin(x), torch.cos(y)  # nothing in common


def row_and_column_sums(x, y):
    return x.sum(0), x.sum(1)  # both read x, along different ranges


def whole_then_each(x, y):
    return x * x.sum()  # each element needs the finished sum


def matmul_between(x, y):
    return torch.cos(torch.sin(x) @ y)  # a library call in the middle


def softmax(x, y):
    return torch.softmax(x, dim=-1)  # a row's sum is enough for that row


x, y = torch.randn(512, 512), torch.randn(512, 512)
rows, logs = [], {}
for f in (siblings, strangers, row_and_column_sums, whole_then_each, matmul_between, softmax):
    c = tclab.capture(f)(x, y)
    before, after = nodes(c.ir_pre_fusion[0]), nodes(c.ir[0])
    refused = re.findall(r"^cannot fuse \w+ with \w+: (.*)$", c.fusion.code, re.MULTILINE)
    saved = megabytes(c.ir_pre_fusion[0]) - megabytes(c.ir[0])
    reasons = "; ".join(dict.fromkeys(refused))
    rows.append((f.__name__, len(before), len(after), saved, reasons, len(c.kernels)))
    steps = re.findall(r"^(?:=====|cannot|fusing|found|completed).*$", c.fusion.code, re.MULTILINE)
    logs[f.__name__] = "\n".join(steps)

nodes_after = {name: (b, a) for name, b, a, *_ in rows}
reason = {name: why for name, *_, why, _ in rows}
# claim: shared-data-fuses
assert nodes_after["siblings"] == (2, 1) and math.isclose(rows[0][3], x.nbytes / 1e6)
# claim: strangers-do-not
assert nodes_after["strangers"] == (2, 2) and rows[1][3] == 0
# claim: strangers-are-no-candidates
assert reason["strangers"] == "" and "found 0 possible" in logs["strangers"]
# claim: other-directions-do-not-fuse-on-a-cpu
assert nodes_after["row_and_column_sums"] == (2, 2)
# claim: no-data-in-the-same-order
assert "no shared data" in reason["row_and_column_sums"]
# claim: the-whole-comes-first-on-a-cpu
assert nodes_after["whole_then_each"] == (2, 2)
# claim: nothing-fuses-across-a-library-call
assert nodes_after["matmul_between"] == (3, 3)
# claim: softmax-fuses
assert nodes_after["softmax"][0] > 1 and nodes_after["softmax"][1] == 1
counts = {name: re.findall(r"fused (\d+) nodes into (\d+)", log) for name, log in logs.items()}
rounds = {name: [tuple(map(int, pair)) for pair in pairs] for name, pairs in counts.items()}
# claim: rounds-until-nothing-fuses
assert len(rounds["softmax"]) > 1 and all(
    all(before > after > 1 for before, after in earlier) and (last[1] == 1 or last[0] == last[1])
    for *earlier, last in rounds.values()
)

columns = (
    "function",
    "nodes before",
    "after",
    "declared bytes saved",
    "refused because",
    "kernels",
)
tclab.show(
    tclab.Table(
        title="Fused or not",
        columns=columns,
        rows=rows,
        units=("", "", "", "MB", "", ""),
        formats=("", "", "", ".2f", "", ""),
    )
)
tclab.show(logs["softmax"], title="The scheduler on softmax", name="log-softmax")
tclab.show(logs["row_and_column_sums"], title="The scheduler on two sums", name="log-sums")
