"""With fullgraph=True the limit is an error.

By default the ninth string runs eager, with a warning in the log, and the eight before it stay
compiled. With `fullgraph=True` it raises. The error itself is short; the guard that kept failing
is named by the warning. What was compiled before is still served, then, too.
"""

import logging

import torch
from torch._dynamo.testing import CompileCounter

import tclab


def f(x, mode):
    return x.sin() if mode == "v2" else x.cos()


class Warnings(logging.Handler):
    def emit(self, record):
        warned.append(record.getMessage())


warned, raised = [], None
logging.getLogger("torch._dynamo").addHandler(Warnings(logging.WARNING))
counter = CompileCounter()
compiled = torch.compile(f, backend=counter, fullgraph=True)
limit = torch._dynamo.config.recompile_limit
x = torch.ones(4)
for n in range(limit):
    compiled(x, f"v{n}")  # these compile
try:
    compiled(x, "one more")
except torch._dynamo.exc.FailOnRecompileLimitHit as error:
    raised = error
after = [torch.allclose(compiled(x, f"v{n}"), f(x, f"v{n}")) for n in range(limit)]

# claim: the-limit-is-an-error
assert raised is not None and counter.frame_count == limit
# claim: the-warning-names-the-guard
assert any(f"mode == 'v{limit - 1}'" in text for text in warned)
# claim: what-was-compiled-is-still-served
assert all(after) and counter.frame_count == limit

tclab.show(str(raised), title="The error", name="error")
lines = [line.split("#")[0].strip() for text in warned for line in text.splitlines()]
tclab.show("\n".join(lines[:3]), title="The warning before it", name="warning")
