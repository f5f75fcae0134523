"""Compare the rules with PyTorch's compiled choice, for GPUs that this machine lacks.

    python -m tclab.workshop.verify.attention.check [--capability 9.0 …] [--out FOLDER]
        [--drawn 4000]

Needs a CUDA build of torch on Linux on x86-64, and no GPU: `pytorch_rules` explains how, and why
the answers are those of the release. Each capability is checked in a process of its own, with the
calls of `cases` and the calls with symbolic sizes of `symbols`, whose guards are compared too.
The exit status is 1 if an answer differs, 2 if PyTorch cannot be asked here.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from tclab import targets
from tclab.capturing.target import stand_in
from tclab.capturing.target.sdpa import torch_answers
from tclab.capturing.target.sdpa.call import Call
from tclab.capturing.target.sdpa.choose import choose
from tclab.capturing.target.sdpa.rule import AttentionRules
from tclab.workshop.verify.attention import pytorch_rules, report, symbols
from tclab.workshop.verify.attention.cases import make_cases

Capability = tuple[int, int]

#: The capabilities of all targets.
CAPABILITIES = (
    *("7.0", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1"),
)


def main(arguments: list[str] | None = None) -> int:
    """Check each capability; return the highest of their exit statuses."""
    parser = argparse.ArgumentParser(
        prog="tclab.workshop.verify.attention.check", description=__doc__
    )
    parser.add_argument("--capability", nargs="+", default=CAPABILITIES, metavar="9.0")
    parser.add_argument("--out", type=Path, help="folder for a file of answers for each")
    parser.add_argument("--drawn", type=int, default=4000, help="random cases. Default: 4000")
    options = parser.parse_args(arguments)
    if why := pytorch_rules.explain_unsupported() or (
        "" if report.installed_rules() else "no rules for this version"
    ):
        print(f"torch {torch.__version__}: {why}")
        return 2
    if len(options.capability) == 1:
        return check_capability(options.capability[0], options.out, options.drawn)
    return max(_check_in_process(each, options) for each in options.capability)


def _check_in_process(capability: str, options: argparse.Namespace) -> int:
    command = [
        sys.executable,
        "-m",
        "tclab.workshop.verify.attention.check",
        "--capability",
        capability,
    ]
    command += ["--drawn", str(options.drawn)]
    command += ["--out", str(options.out)] if options.out else []
    quiet = {**os.environ, "TORCH_CPP_LOG_LEVEL": "ERROR", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(command, env=quiet, check=False).returncode


def check_capability(name: str, folder: Path | None, drawn: int) -> int:
    """Check one capability in this process; return the exit status."""
    version = report.installed_rules()
    assert version is not None
    warnings.simplefilter("ignore")  # ignore PyTorch's warning of each refused call
    major, _, minor = name.partition(".")
    capability = int(major), int(minor)
    with pretend_gpu(capability):
        plain, seconds = report.time_answers(
            lambda: compare_concrete_calls(capability, version, drawn)
        )
        symbolic = symbols.compare_symbolic_calls(capability, version)
    rows = [*plain, *symbolic]
    head = report.describe_run(rows, "none: the compiled library", capability, seconds)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"torch{version.name}-sm{major}{minor}.txt"
        path.write_text(report.format_answers(head, rows), encoding="utf-8")
    return report.print_summary(head, rows)


@contextmanager
def pretend_gpu(capability: Capability) -> Iterator[None]:
    """Allow fake GPU tensors, and make PyTorch choose as on a GPU of this capability."""
    # any target will do, because fake tensors have no capability
    with stand_in.fake_gpu(targets.get("h200")):
        pytorch_rules.set_capability(capability)
        with torch_answers.fake_mode():
            tensor = torch.empty(1, 1, 8, 8, device="cuda", dtype=torch.float16)
            # The first call fixes the order of kernels for this process.
            torch_answers.ask_cuda_choice(Call(tensor, tensor, tensor))
        yield


def compare_concrete_calls(
    capability: Capability, version: AttentionRules, drawn: int
) -> list[report.AnswerPair]:
    """Return PyTorch's answer and the rules' answer for each case, asked with fake tensors."""
    rows = []
    with torch_answers.fake_mode():
        for case in make_cases(drawn):
            call = case.call("cuda")
            here = case.machine(capability, torch_answers.cudnn_version())
            with case.switches():
                theirs, ours = torch_answers.ask_cuda_choice(call), choose(call, here, version)
            rows.append(report.AnswerPair(theirs, ours.backend, case))
    return rows


if __name__ == "__main__":
    sys.exit(main())
