"""A report of today's compile, kept, and compared with one of later.

So that one machine can show it, the later report is of the same PyTorch with an option that
stands for a changed compiler: the scheduler fuses no two nodes.
"""
# tclab: needs=cxx timeout=240

import contextlib
import io
import os
import tempfile
from pathlib import Path

import torch

import tclab
from tclab.cli import command
from tclab.explain import Report

MODEL = """\
import torch

def f(x):
    return torch.softmax(x, -1)

def example_inputs():
    return [(torch.randn(8, 64),)]
"""


def tclab_said(*arguments):
    """What the command printed, and its status."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        status = command.main(list(arguments))
    return output.getvalue(), status


os.chdir(tempfile.mkdtemp())
Path("my_model.py").write_text(MODEL)
explain = ("explain", "my_model.py:f", "--format", "json", "-o")
assert tclab_said(*explain, "before.json")[1] == 0
assert tclab_said(*explain, "after.json", "--option", "max_fusion_size=1")[1] == 0
Path("my_model.py").unlink()
same, at_rest = tclab_said("diff", "before.json", "before.json")
other, changed = tclab_said("diff", "before.json", "after.json")
before, after = (Report.from_json(Path(f"{name}.json").read_text()) for name in ("before", "after"))
above, _, below = other.partition("--- Assembly")
tclab.show(above, title="tclab diff before.json after.json, without the assembly", name="diff")


def has_a_difference(text):
    return any(line.startswith(("+", "-")) for line in text.splitlines())


def refusal(option):
    """What `torch.compile` says of an option that it does not have."""
    try:
        torch.compile(torch.relu, options={option: True})
    except RuntimeError as error:
        return str(error)


unknown = refusal("an_option_of_another_version")

# claim: a-report-names-its-pytorch
assert before.provenance.torch == torch.__version__
# claim: the-same-twice-has-no-difference
assert not has_a_difference(same)
# claim: the-status-says-whether-something-differs
assert (at_rest, changed) == (0, 4)
# claim: what-differs-comes-first
assert same.startswith("Nothing differs") and other.startswith("What differs")
# claim: an-option-that-is-gone-is-an-error
assert "an_option_of_another_version" in unknown and "max_fusion_size" in unknown
# claim: the-code-is-not-needed
assert not Path("my_model.py").exists() and has_a_difference(other)
# claim: another-fusion-is-a-difference
assert has_a_difference(above) and has_a_difference(below)
# claim: which-operations-stand-alone
assert "fused: op0, op1, op2, op3" in above and "op0 alone" in above
# claim: stages-above-are-the-same
assert "Post-grad graph. " in above and "--- Post-grad graph" not in above
# claim: counts-stay-the-same
assert before.counts == after.counts
