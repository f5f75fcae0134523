"""Ask this machine's GPU which attention kernel it chooses, and compare with the rules.

    python -m tclab.workshop.verify.attention.record --out FILE [--drawn 4000]

Needs only torch with CUDA and an NVIDIA GPU. The command takes seconds, because no attention is
computed. FILE is text: a head of ``# name: value`` lines, then a line for each case: the GPU's
answer, the rules' answer, the case. The exit status is 1 if an answer differs, 2 without a GPU or
rules.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import torch

from tclab.capturing.target.sdpa import torch_answers
from tclab.capturing.target.sdpa.choose import choose
from tclab.capturing.target.sdpa.rule import AttentionRules
from tclab.workshop.verify.attention import report
from tclab.workshop.verify.attention.cases import Case, make_cases


def main(arguments: list[str] | None = None) -> int:
    """Ask about all cases, write the file, print a summary; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="tclab.workshop.verify.attention.record", description=__doc__
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--drawn", type=int, default=4000, help="random cases. Default: 4000")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # ignore PyTorch's warning of each refused call
    version = report.installed_rules()
    if not torch.cuda.is_available() or version is None:
        print(f"torch {torch.__version__}: no GPU here, or no rules for this version")
        return 2
    rows, seconds = report.time_answers(
        lambda: [ask_gpu(c, version) for c in make_cases(options.drawn)]
    )
    gpu, capability = torch.cuda.get_device_name(), torch.cuda.get_device_capability()
    head = report.describe_run(rows, gpu, capability, seconds)
    options.out.write_text(report.format_answers(head, rows), encoding="utf-8")
    return report.print_summary(head, rows)


def ask_gpu(case: Case, version: AttentionRules) -> report.AnswerPair:
    """Return the GPU's answer and the rules' answer for one case."""
    call = case.call("cuda")
    here = case.machine(torch.cuda.get_device_capability(), torch_answers.cudnn_version())
    with case.switches():
        return report.AnswerPair(
            torch_answers.ask_torch(call), choose(call, here, version).backend, case
        )


if __name__ == "__main__":
    sys.exit(main())
