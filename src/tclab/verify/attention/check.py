"""Compare the rules with PyTorch's compiled choice, for GPUs that are not there.

    python -m tclab.verify.attention.check [--capability 9.0 …] [--out FOLDER] [--drawn 4000]

Needs a CUDA build of torch on Linux on x86-64, and no GPU: `compiled` says how, and why the
answers are the release's own. Each capability is asked in a process of its own, about the calls
of `cases` and about those with symbolic sizes of `symbols`, whose guards are compared too.
The exit status is 1 if anything differs, 2 if nothing could be asked.
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
from tclab.capturing.target.sdpa import asked
from tclab.capturing.target.sdpa.call import Call
from tclab.capturing.target.sdpa.choose import choose
from tclab.capturing.target.sdpa.rule import AttentionRules
from tclab.verify.attention import compiled, report, symbols
from tclab.verify.attention.cases import cases

Capability = tuple[int, int]

#: Every capability that a target has, and the newest there is.
CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")


def main(arguments: list[str] | None = None) -> int:
    """Check each capability; the worst of their exit statuses."""
    parser = argparse.ArgumentParser(prog="tclab.verify.attention.check", description=__doc__)
    parser.add_argument("--capability", nargs="+", default=CAPABILITIES, metavar="9.0")
    parser.add_argument("--out", type=Path, help="folder for a file of answers for each")
    parser.add_argument("--drawn", type=int, default=4000, help="random cases. Default: 4000")
    options = parser.parse_args(arguments)
    if why := compiled.impossible() or ("" if report.version() else "no rules for this version"):
        print(f"torch {torch.__version__}: {why}")
        return 2
    if len(options.capability) == 1:
        return one(options.capability[0], options.out, options.drawn)
    return max(_in_process(each, options) for each in options.capability)


def _in_process(capability: str, options: argparse.Namespace) -> int:
    command = [sys.executable, "-m", "tclab.verify.attention.check", "--capability", capability]
    command += ["--drawn", str(options.drawn)]
    command += ["--out", str(options.out)] if options.out else []
    quiet = {**os.environ, "TORCH_CPP_LOG_LEVEL": "ERROR", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(command, env=quiet, check=False).returncode


def one(name: str, folder: Path | None, drawn: int) -> int:
    """Check one capability in this process."""
    version = report.version()
    assert version is not None
    warnings.simplefilter("ignore")  # a refused call says why, every time
    major, _, minor = name.partition(".")
    capability = int(major), int(minor)
    with pretending(capability):
        plain, seconds = report.timed(lambda: concrete(capability, version, drawn))
        symbolic = symbols.rows(capability, version)
    rows = [*plain, *symbolic]
    head = report.facts(rows, "none: the compiled library", capability, seconds)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"torch{version.name}-sm{major}{minor}.txt"
        path.write_text(report.text(head, rows), encoding="utf-8")
    return report.say(head, rows)


@contextmanager
def pretending(capability: Capability) -> Iterator[None]:
    """Fake tensors of a GPU may be made, and PyTorch chooses as on one of that capability."""
    with stand_in.standing_in(targets.get("h200")):  # any: fake tensors have no capability
        compiled.pretend(capability)
        with asked.fake():
            tensor = torch.empty(1, 1, 8, 8, device="cuda", dtype=torch.float16)
            asked.compiled_answer(Call(tensor, tensor, tensor))  # sets the order for good
        yield


def concrete(
    capability: Capability, version: AttentionRules, drawn: int
) -> list[report.AnswerPair]:
    """Both answers for each case, on fake tensors."""
    rows = []
    with asked.fake():
        for case in cases(drawn):
            call = case.call("cuda")
            here = case.machine(capability, asked.cudnn_version())
            with case.switches():
                theirs, ours = asked.compiled_answer(call), choose(call, here, version)
            rows.append(report.AnswerPair(theirs, ours.backend, case))
    return rows


if __name__ == "__main__":
    sys.exit(main())
