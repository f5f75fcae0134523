"""``--target``: kernels of a GPU that is not there, and what is shown where it is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tclab.cli import command
from tclab.cli.report_file import FORMATS
from tclab.explain import ExplainRequest, explain_named
from tclab.model import Problem, Report

pytest.importorskip("triton")

MODEL = """\
import torch


def activate(x):
    return (x + 1).relu() * 2


def breaks(x, w):
    print("before")
    return torch.mm(x, w)
"""


@pytest.fixture
def model(write):
    write("model.py", MODEL)


def stages(report):
    return {pane.stage for chain in report.chains for pane in chain.panes}


def test_the_chain_goes_down_to_instructions(model, capsys):
    report = explain_named(
        ExplainRequest.parse("model.py:activate", target="h200", inputs=["f32[64,64]"])
    )
    assert report.target == "NVIDIA H200" and report.refusal is None and report.remarks == ()
    assert {"python", "dynamo", "forward", "ir", "kernel", "ttir", "ptx", "sass"} <= stages(report)
    assert report.counts.kernels == 1
    (row,) = report.kernels
    assert [str(line) for line in row.lines] == ["model.py:5"] and row.bytes == 2 * 64 * 64 * 4
    assert 0 < row.registers <= 255 and row.spilled == 0
    assert row.category == "pointwise"


CTC = """\
import torch


def loss(p, t, n, m):
    p = p * 2
    print("before")
    return torch.nn.functional.ctc_loss(p, t, n, m)


def example_inputs():
    n, m = torch.full((2,), 9), torch.full((2,), 3)
    return torch.randn(9, 2, 5).log_softmax(2), torch.randint(1, 5, (2, 3)), n, m
"""


def test_a_refusal_keeps_breaks_and_guards_and_shows_no_kernel(write, folder, capsys):
    write("ctc.py", CTC)
    assert command.main(["explain", "ctc.py:loss", "--target", "h200"]) == 3
    out = capsys.readouterr().out
    assert "incomplete: refused for NVIDIA H200: aten._use_cudnn_ctc_loss" in out
    html = (folder / "ctc-loss-h200.html").read_text(encoding="utf-8")
    assert 'data-stage="kernel"' not in html and 'data-stage="cpp"' not in html
    assert 'data-stage="dynamo"' in html


def test_what_the_gpu_would_time_is_shown_one_way_marked_open_and_is_complete(
    model, folder, capsys
):
    words = ["explain", "model.py:breaks", "--target", "h200", "-i", "f32[5,7]", "-i", "f32[7,3]"]
    assert command.main(words) == 0
    out = capsys.readouterr().out
    assert "1 matrix product could be padded" in out and "--assume pad=both" in out
    joined = " ".join(out.split())  # a narrow terminal breaks the cells
    assert "library call, open: pad=no" in joined and "pad=yes" not in out
    counted = next(line for line in out.splitlines() if "library call" in line)
    assert command.main([*words, "--assume", "pad=both"]) == 0
    out = capsys.readouterr().out
    assert counted.partition(", compiled")[0] in out, "one way is counted"
    out = " ".join(out.split())
    assert "library call, open: pad=no" in out and "pad=yes" in out
    assert "the numbers of NVIDIA H200 cannot be known here" in out
    html = (folder / "model-breaks-h200.html").read_text(encoding="utf-8")
    assert "mm of [5, 7] @ [7, 3], model.py:10" in html
    assert "open: with pad=yes" in html and 'data-stage="sass"' in html
    assert command.main([*words, "--assume", "pad=no"]) == 0
    assert "open:" not in capsys.readouterr().out


def test_an_assumption_wants_a_target_and_a_value(model, capsys):
    words = ["explain", "model.py:activate", "-i", "f32[64,64]", "--assume"]
    assert command.main([*words, "pad=no"]) == 2
    assert command.main([*words, "pad", "--target", "h200"]) == 2
    assert command.main([*words, "pad=often", "--target", "h200"]) == 2
    assert "known: pad=no" in capsys.readouterr().err
    assert command.main([*words, "pad: mm of [9, 9]=yes", "--target", "h200"]) == 2
    assert "no matrix product that the GPU would time" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "cause"), [(["--target", "h200"], "the NVIDIA H200 is"), ([], "there is no target")]
)
def test_unverified_is_for_amd_alone(words, cause, model, capsys):
    assert command.main(["explain", "model.py:activate", "--unverified", *words]) == 2
    assert f"--unverified: {cause}" in capsys.readouterr().err


def test_a_complete_report_ends_with_0_and_its_file_carries_the_target(model, folder, capsys):
    words = ["explain", "model.py:activate", "-i", "f32[64,64]", "--target"]
    assert command.main([*words, "H200"]) == 0
    assert command.main([*words, "sm_80"]) == 0
    made = {path.name for path in folder.glob("*.html")}
    assert "model-activate-h200.html" in made and len(made) == 2


def test_an_option_of_the_compiler_lifts_a_refusal(model, capsys):
    inputs, options = ["f32[5,7]", "f32[7,3]"], ["shape_padding=False"]
    report = explain_named(
        ExplainRequest.parse("model.py:breaks", target="a100", inputs=inputs, options=options)
    )
    assert report.refusal is None and len(report.breaks) == 1


def test_a_kernel_that_triton_cannot_compile_is_named(model, monkeypatch):
    from tclab.capturing.target import capture
    from tclab.errors import CaptureError

    def fails(*args):
        raise CaptureError("kernel k", "Triton cannot compile it", "see its source")

    monkeypatch.setattr(capture.TargetCapture, "compile_kernels", fails)
    report = explain_named(
        ExplainRequest.parse("model.py:activate", target="h200", inputs=["f32[64,64]"])
    )
    assert report.refusal == Problem("kernel k", "Triton cannot compile it", "see its source")
    assert "kernel" in stages(report) and not stages(report) & {"ttir", "ptx", "sass"}


LENGTH = """
import torch

class Pair(tuple):
    def __len__(self):
        raise NotImplementedError

class Pairs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pairs = [Pair((1, 2))]

    def forward(self, x):
        for a, b in self.pairs:
            x = x * a + b
        return x

pairs = Pairs()

def example_inputs():
    return (torch.randn(4),)
"""


def test_a_failure_of_dynamo_is_the_same_for_a_target(write, folder, capsys):
    write("length.py", LENGTH)
    said = []
    for words in ([], ["--target", "h200"]):
        assert command.main(["explain", "length.py:pairs", *words]) == 1
        errors = capsys.readouterr().err
        assert "During handling" not in errors and "tclab/" not in errors
        said.append(errors.splitlines()[:2])
    assert "it runs, but torch.compile fails on it" in said[0][0]
    assert said[0] == said[1]


HOST = """
import torch

def keeps(x):
    keep = torch.stack([torch.full((), 2.0), torch.full((), 3.0)])
    return x * 2, keep.unsqueeze(0) + 1, torch.randperm(4)
"""


def test_operators_of_the_cpu_are_one_remark_and_the_report_is_complete(write, folder, capsys):
    write("host.py", HOST)
    assert command.main(["explain", "host.py:keeps", "--target", "h200", "-i", "f32[8,16]"]) == 0
    out = capsys.readouterr().out
    assert "incomplete" not in out
    assert out.count("leaves to the CPU") == 1 and "host.py:5" in out and "host.py:6" in out


LOWERED = """
import torch

def counts(x):
    print("a break")
    return x * 2
"""


def test_the_level_dynamo_compiles_nothing_after_dynamo(write, monkeypatch):
    from torch._inductor import compile_fx

    write("counts.py", LOWERED)
    monkeypatch.setattr(compile_fx, "compile_fx", None)
    for target in (None, "h200"):
        report = explain_named(
            ExplainRequest.parse("counts.py:counts", target=target, inputs=["f32[4]"],
                                 level="dynamo")
        )  # fmt: skip
        assert len(report.breaks) == 1 and not report.kernels and not report.refusal


def test_each_output_for_amd_says_that_no_device_was_compared(model):
    def explain(*more: str) -> subprocess.CompletedProcess[str]:
        words = ["explain", "model.py:activate", "-i", "f32[64,64]", "--target", "mi300x", *more]
        command = [sys.executable, "-m", "tclab", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    refused = explain()
    assert refused.returncode == 2 and "--unverified" in refused.stderr
    assert explain("--unverified", "--watch").returncode == 2
    done = explain("--unverified", "--format", "json")
    assert done.returncode == 0, done.stderr
    label = "no AMD device was compared"
    assert label in done.stderr  # the summary
    report = Report.from_json(done.stdout)
    assert label in report.target and label in report.snapshot.target
    assert all(label in form(report) for form in FORMATS.values())
    assert report.cost is None and report.chains[0].panes[-1].stage == "amdgcn"
    (left_out,) = report.remarks  # a gap is named where a reader looks for it
    assert "the least cost of a call" in left_out and "occupancy" in left_out
    assert all("(occupancy)" in FORMATS[form](report) for form in ("html", "json", "text"))
