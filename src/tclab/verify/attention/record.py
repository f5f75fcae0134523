"""Ask the GPU that is here which attention kernel it takes, and compare with the rules.

    python -m tclab.verify.attention.record --out FILE [--drawn 4000]

Needs torch with CUDA and an NVIDIA GPU, nothing else, and takes seconds: nothing is computed.
FILE is text: a head of ``# name: value`` lines, then a line a case: what the GPU answered, what
the rules say, the case. The exit status is 1 if one differs, 2 if nothing could be asked.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import torch

from tclab.capturing.target.sdpa import asked
from tclab.capturing.target.sdpa.choose import choose
from tclab.capturing.target.sdpa.rule import AttentionRules
from tclab.verify.attention import report
from tclab.verify.attention.cases import Case, cases


def main(arguments: list[str] | None = None) -> int:
    """Ask for all cases, write the file, print a summary; 1 if the rules differ from the GPU."""
    parser = argparse.ArgumentParser(prog="tclab.verify.attention.record", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--drawn", type=int, default=4000, help="random cases. Default: 4000")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # a refused call says why, every time
    version = report.version()
    if not torch.cuda.is_available() or version is None:
        print(f"torch {torch.__version__}: no GPU here, or no rules for this version")
        return 2
    rows, seconds = report.timed(lambda: [ask(c, version) for c in cases(options.drawn)])
    gpu, capability = torch.cuda.get_device_name(), torch.cuda.get_device_capability()
    head = report.facts(rows, gpu, capability, seconds)
    options.out.write_text(report.text(head, rows), encoding="utf-8")
    return report.say(head, rows)


def ask(case: Case, version: AttentionRules) -> report.AnswerPair:
    """The GPU's answer and the rules' answer for one case."""
    call = case.call("cuda")
    here = case.machine(torch.cuda.get_device_capability(), asked.cudnn_version())
    with case.switches():
        return report.AnswerPair(asked.answer(call), choose(call, here, version).backend, case)


if __name__ == "__main__":
    sys.exit(main())
