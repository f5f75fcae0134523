"""What `tclab explain` prints, and the report that it writes.

The function above in a file of its own, for an H200 that is not here. First the counts, in words;
then each kernel with the lines it computes, the bytes it reads and writes, and its registers; then
each graph break with PyTorch's own advice; then what was compiled again, and why.
"""
# tclab: needs=triton timeout=240

import contextlib
import io
import os
import tempfile
from pathlib import Path

import tclab
from tclab.cli import command
from tclab.explain import ExplainRequest, explain_named

MODEL = """\
import torch

FLOOR = 1e-6


def unit(x):
    return x / x.norm(dim=-1, keepdim=True).clamp(min=FLOOR)


def score(x, weight, power=2):
    y = unit(x) @ weight
    if y.max() > 0.5:
        y = y * 0.5
    return y**power


def example_inputs():
    weight = torch.randn(16, 16)
    return [(torch.randn(batch, 16), weight) for batch in (8, 12, 20)]
"""

os.chdir(tempfile.mkdtemp())
os.environ["COLUMNS"] = "88"
Path("my_model.py").write_text(MODEL)

with contextlib.redirect_stdout(io.StringIO()) as said:
    status = command.main(["explain", "my_model.py:score", "--target", "h200"])
print(said.getvalue())
# claim: a-complete-report-ends-with-0
assert status == 0
# claim: the-file-carries-the-target
assert [path.name for path in Path().glob("*.html")] == ["my_model-score-h200.html"]
# claim: nothing-is-asked-of-a-host
assert "default-src 'none'" in Path("my_model-score-h200.html").read_text()

report = explain_named(ExplainRequest.parse("my_model.py:score", target="h200"))
# claim: counts-are-said-in-words
assert "1 graph break: the code is in 2 graphs. 2 recompiles: 4 graphs in all." in said.getvalue()
generated = [kernel for kernel in report.kernels if kernel.category != "extern"]
# claim: each-kernel-has-lines-bytes-and-registers
assert all(kernel.lines and kernel.bytes and kernel.registers for kernel in generated)
# claim: a-break-comes-with-its-fix
assert "graph break my_model.py:12  if y.max() > 0.5:" in said.getvalue()
assert "  fix: " in said.getvalue()

tclab.show(report)
