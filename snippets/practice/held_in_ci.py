"""A model whose compile a test holds, and three edits: what fails, and what it says.

pytest runs in a process of its own, once before any file is there, once to write it, and once for
each edit. The kernels are those of an H200, which is not here. The processes are forks, since an
import of PyTorch takes seconds.
"""
# tclab: needs=triton timeout=400

import multiprocessing
import os
import re
import sys
import tempfile
from pathlib import Path

import pytest

import tclab

MODEL = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        h = self.linear(x)
        return torch.relu(h) + x
"""
TEST = """\
import pytest
import torch
from mypkg.model import Block


def test_forward(compiled):
    c = compiled(Block(), torch.ones(8, 64), target="h200")
    c.matches()


@pytest.mark.compiled(max_breaks=0, within="mypkg")
def test_step():
    torch.compile(Block(), backend="eager")(torch.ones(8, 64))
"""
EDITS = {
    "a print": ("        return", '        print("h", h.shape)\n        return'),
    "another order": ("torch.relu(h) + x", "torch.relu(h + x)"),
    "a comment": ("        return", "        # a residual\n        return"),
}
folder = Path(tempfile.mkdtemp())
(folder / "mypkg").mkdir()
(folder / "test_model.py").write_text(TEST)
PLUGIN = (
    "-p",
    "torch_compile_lab_pytest",
    "-p",
    "no:cacheprovider",
    "--tb=short",
    "-q",
    "-W",
    "ignore",
)


def child(words):
    os.dup2(os.open(folder / "printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    sys.stdout = os.fdopen(1, "w")
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    pytest.main([*PLUGIN, *words])
    sys.stdout.flush()


def ran(model, *words):
    """What pytest prints of the model, and the tests that fail."""
    (folder / "mypkg" / "model.py").write_text(model)
    process = multiprocessing.get_context("fork").Process(target=child, args=(words,))
    process.start()
    process.join()
    text = re.sub(r"\S*/mypkg/", "mypkg/", (folder / "printed").read_text())
    return text, re.findall(r"^FAILED test_model\.py::(\w+)", text, re.MULTILINE)


def files():
    return [path.name for path in folder.glob("compiled/*")]


none, unheld = ran(MODEL)
before = files()
_, written = ran(MODEL, "--compiled-update")
after = files()
printed = {edit: ran(MODEL.replace(*change)) for edit, change in EDITS.items()}

tclab.show(MODEL, title="mypkg/model.py", name="model")
tclab.show(TEST, title="test_model.py", name="test")
for edit in ("a print", "another order"):
    said, _ = printed[edit]
    failures = said[said.index("= FAILURES") - 30 :].partition("\n")[2]
    tclab.show(failures, title=f"pytest after {edit}", name=edit.replace(" ", "-"))
tclab.show(
    tclab.Table(
        title="Which tests fail",
        name="failures",
        columns=("edit", *(names := ("test_forward", "test_step"))),
        rows=[
            (edit, *("fails" if name in failed else "passes" for name in names))
            for edit, (_, failed) in printed.items()
        ],
    )
)
said = {edit: text for edit, (text, _) in printed.items()}
failed = {edit: names for edit, (_, names) in printed.items()}

# claim: without-a-file-it-fails-and-writes-none
assert unheld == ["test_forward"] and before == []
# claim: the-flag-writes-one-named-after-test-and-version
assert written == [] and len(after) == 1 and re.search(r"test_forward\.torch2\.\d+\.json", after[0])
# claim: a-print-fails-both
assert failed["a print"] == ["test_forward", "test_step"]
# claim: its-line-reason-and-fix-are-named
assert all(e in said["a print"] for e in ("mypkg/model.py:12: print(", "reason: ", "fix: "))
# claim: another-order-breaks-nothing-and-fails-the-first
assert failed["another order"] == ["test_forward"] and "graph break" not in said["another order"]
# claim: the-kernel-has-other-code
assert "kernel, other code: pointwise" in said["another order"]
# claim: a-count-would-not-have-told
assert not re.search(r"E +(graph, |kernel, (new|gone))", said["another order"])
# claim: a-comment-fails-nothing
assert failed["a comment"] == []
