"""A report that follows the file: `tclab explain --watch`.

The command serves the report to this machine alone. A file is saved: the report is made anew, and
an open page loads it. A file that cannot be compiled leaves the report as it was and puts the
message above it. Ctrl-C ends the command.
"""
# tclab: needs=triton timeout=240

import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import tclab

MODEL = """\
import torch

def f(x):
    return torch.relu(x) * 2

def example_inputs():
    return (torch.randn(64, 64),)
"""
FOLDER = Path(tempfile.mkdtemp())
COMMAND = [sys.executable, "-m", "tclab", "explain", "m.py:f", "--target", "h200", "--watch"]


def heard(pattern):
    """The first line that the command prints from now on that has this in it."""
    return next(line for line in process.stdout if re.search(pattern, line)).strip()


def saved(old, new, pattern):
    """Save the file with a change; what the command prints, and the page after it."""
    (FOLDER / "m.py").write_text(MODEL.replace(old, new))
    line = heard(pattern)
    page = urllib.request.urlopen(url).read().decode()
    rows.append((f"saved with {new!r}", line, *(text in page for text in SOUGHT)))


SOUGHT = ("relu_0", "relu_sub_0", "SyntaxError")
(FOLDER / "m.py").write_text(MODEL)
process = subprocess.Popen(
    COMMAND, cwd=FOLDER, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
)  # fmt: skip
rows = []
url = heard("Ctrl-C ends it").split()[0]
heard("wrote")
saved("* 2", "* 2 - 1", "wrote")
saved("* 2", "* (2", "SyntaxError")
saved("* 2", "* 2", "wrote")
process.send_signal(signal.SIGINT)
last, status = heard("ended"), process.wait()
# claim: only-this-machine-is-served
assert url.startswith("http://127.0.0.1:")
# claim: a-saved-file-gives-a-new-report
assert rows[0][3] and "wrote m-f-h200.html" in rows[0][1]
# claim: an-error-leaves-the-report-and-is-shown
assert rows[1][3] and rows[1][4] and rows[1][1].startswith("error: m.py:4: SyntaxError")
# claim: the-watch-goes-on-after-an-error
assert not rows[2][3] and not rows[2][4]
# claim: interrupting-ends-it-with-0
assert status == 0 and "the last report is in m-f-h200.html" in last

columns = ("the file", "the terminal", *(f"page has {text}" for text in SOUGHT))
tclab.show(tclab.Table("What is said of a file that is saved", "saved", columns, rows))
