"""A batch norm, a ReLU, a dropout and a softmax around two products, for an H200, compiled twice.

`tclab upgrade my_model.py:f --to 2.15.0 --target h200 --format json`, run once, wrote the file that
is read here: a snapshot of each compile, compared anew.
"""
# tclab: reads=records/upgrade.json

import json
from pathlib import Path

import tclab
from tclab.compare import compare_snapshots
from tclab.compare.causes import find_causes
from tclab.model import decode

MODEL = """\
import torch
import torch.nn.functional as F

def f(x, mean, var, w1, w2):
    x = F.batch_norm(x, mean, var)
    x = F.dropout(torch.relu(x @ w1), 0.1)
    return torch.softmax(x @ w2, -1)

def example_inputs():
    shapes = (256, 512), (512,), (512,), (512, 1024), (1024, 64)
    return tuple(torch.rand(shape) for shape in shapes)
"""
here = Path(__file__).resolve().parent
places = (here, here.parents[1] / "records")
path = next(p for folder in places if (p := folder / "upgrade.json").exists())
(record,) = json.loads(path.read_text(encoding="utf-8"))["names"]
before, after = (decode(record[side]["snapshot"]) for side in ("before", "after"))
comparison = compare_snapshots(before, after)
causes = find_causes(comparison.pairs)
code = [cause for cause in causes if cause.example.old.body != cause.example.new.body]

tclab.show(MODEL, title="my_model.py", name="model")
tclab.show(
    tclab.Table(
        title=f"Why kernels differ from PyTorch {before.torch} to {after.torch}",
        name="causes",
        columns=("kernels", "cause", "moves numbers", "known as"),
        rows=[(len(c.pairs), c.form.name, c.form.numbers, c.form.issue or None) for c in causes],
        caption=f"For {before.target}: Triton {before.triton} and {after.triton}",
    )
)

# claim: each-side-is-of-its-version
assert (before.torch[:4], after.torch[:4]) == ("2.13", "2.15")
# claim: as-many-kernels
assert len(before.kernels) == len(after.kernels) > 2
# claim: graphs-are-the-first-stage
assert comparison.first_part == record["first"] == "graphs"
# claim: each-cause-has-a-name
assert code and "not known" not in {cause.form.name for cause in causes}
# claim: random-numbers-come-first
assert causes[0].form.issue == "pytorch#198333" and causes[0].form.numbers == "yes"
# claim: a-root-moves-the-last-bits
assert any("rsqrt" in c.form.name and c.form.numbers == "the last bits" for c in causes)
# claim: another-maximum-moves-nothing
assert any("maximum and minimum" in c.form.name and c.form.numbers == "no" for c in causes)
# claim: a-snapshot-has-no-difference-from-itself
assert compare_snapshots(after, after).same
