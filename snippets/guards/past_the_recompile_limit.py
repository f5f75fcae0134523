"""Past the limit: new keys run eager, old keys still run compiled.

Twelve strings, one compile each, until `recompile_limit`. From there a new string runs
eager, without an error: one warning is logged, for the first of them. A string that was
compiled before is still served by its entry.
"""

import logging

import torch
from torch._dynamo.testing import CompileCounter

import tclab


def f(x, mode):
    if torch.compiler.is_compiling():  # True while Dynamo traces: baked into compiled code
        return x + len(mode)
    return x + len(mode) + 100  # what eager execution does


class Warnings(logging.Handler):
    def emit(self, record):
        heard.append(record.getMessage())


heard = []
logging.getLogger("torch._dynamo").addHandler(Warnings(logging.WARNING))
limit = torch._dynamo.config.recompile_limit
counter = CompileCounter()
compiled = torch.compile(f, backend=counter)
x = torch.zeros(1)

rows = []
modes = [f"mode {n}" for n in range(limit + 3)] + ["mode 0"]
for mode in modes:
    before = counter.frame_count
    ran_eager = compiled(x, mode).item() >= 100
    did = "compiled" if counter.frame_count > before else "no compile"
    rows.append((mode, did, "eager" if ran_eager else "compiled code"))

ran = [row[2] for row in rows]
# claim: eight-entries
assert counter.frame_count == limit == 8
# claim: new-keys-run-eager
assert ran[:limit] == ["compiled code"] * limit and ran[limit:-1] == ["eager"] * 3
# claim: old-keys-stay-compiled
assert ran[-1] == "compiled code"
# claim: one-warning
assert len([text for text in heard if "hit config.recompile_limit" in text]) == 1

tclab.show(
    tclab.Table(
        title=f"Call by call, recompile_limit = {limit}",
        columns=("argument", "Dynamo", "what ran"),
        rows=rows,
    ),
    name="calls",
)
