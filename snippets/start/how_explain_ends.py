"""How `tclab explain` ends: with a status that a script can read, and one message.

A report that lacks something is written all the same; it says what it lacks. Where there is no
report, the message names the place, the cause and the next step.
"""
# tclab: needs=triton timeout=240

import contextlib
import io
import os
import tempfile
from pathlib import Path

import tclab
from tclab.cli import command

MODEL = """\
import torch

def smooth(x):
    return torch.sigmoid(x) * x

def aligned(x, labels):
    return torch.nn.functional.ctc_loss(x, labels, (9, 9), (3, 3))

def stops(x):
    if x.sum() > 0:
        return x * 2
    return x

def wants_ten(x):
    return x.view(10)
"""
WORDS = [
    "smooth --input f32[64,64]",
    "smooth --input f32[64,64] --target h200",
    "stops --input f32[9]",
    "aligned --input f32[9,2,5] --input i64[2,3]<5 --target h200",
    "wants_ten --input f32[9]",
    "stops --input f32[9] --option fullgraph=True",
    "smooth --input f32[64,64] --option mode=fast",
    "smooth --input f32[64,64] --target h2000",
]
os.chdir(tempfile.mkdtemp())
Path("m.py").write_text(MODEL)


def ended(words):
    """The exit status, whether a report was written, and message and next step if there were."""
    said, report = io.StringIO(), Path("report.html")
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = command.main(["explain", *f"m.py:{words} -o {report}".split()])
    lines = said.getvalue().splitlines()
    written = report.exists()
    report.unlink(missing_ok=True)
    message = next((x for x in lines if x.startswith(("error: ", "incomplete: "))), "")
    step = next((x for x in lines if x.startswith("  next: ")), "")
    return status, written, message, step


ends = [ended(words) for words in WORDS]
statuses, messages = [end[:2] for end in ends], [end[2] for end in ends]
steps = [end[3] for end in ends]
# claim: zero-for-a-complete-report
assert statuses[:2] == [(0, True), (0, True)]
# claim: a-graph-break-is-part-of-a-report
assert statuses[2] == (0, True)
# claim: three-for-a-report-that-lacks-kernels
assert statuses[3] == (3, True) and "ctc_loss" in messages[3] and "m.py:7" in messages[3]
# claim: one-where-there-is-no-report
assert statuses[4] == (1, False) and "m.py:15 (return x.view(10))" in messages[4]
# claim: fullgraph-names-the-line-and-the-break
assert statuses[5] == (1, False) and "m.py:10 (if x.sum() > 0:)" in messages[5]
# claim: two-for-a-wrong-command-line
assert statuses[6:] == [(2, False), (2, False)]
# claim: an-unknown-target-suggests-the-nearest
assert "did you mean h200" in steps[7]
# claim: each-fault-has-a-next-step
assert all(messages[4:]) and all(steps[4:])

tclab.show(tclab.Table(
    title="Commands, and how they ended", name="ends",
    columns=("tclab explain m.py:…", "status", "report", "message"),
    rows=[(words, *end[:3]) for words, end in zip(WORDS, ends)],
))  # fmt: skip
