"""Compare the rules with recorded answers of PyTorch, for many versions and capabilities.

    python -m tclab.workshop.verify.attention.replay [--keep FOLDER]

Needs no CUDA build, because it does not ask PyTorch. ``answers.txt`` has a line for each call: a
letter for each column, then the call; its head describes the columns. ``--keep`` rewrites it from
the files of `check`, and of `record` for a real device, in FOLDER.
The exit status is 1 if a rule gives another answer.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from tclab.capturing.target.sdpa.choose import choose
from tclab.capturing.target.sdpa.versions import VERSIONS
from tclab.model import Version
from tclab.workshop.verify.attention.cases import Case, parse

ANSWERS = Path(__file__).with_name("answers.txt")
LETTERS = {"math": "m", "flash": "f", "efficient": "e", "cudnn": "c", "error": "-"}


@dataclass(frozen=True)
class Column:
    """The source of a column of answers: a PyTorch with its cuDNN, a compute capability, and the
    device, if there was one.
    """

    torch: tuple[int, int]
    capability: tuple[int, int]
    cudnn: int
    gpu: str = ""

    def __str__(self) -> str:
        torch, capability = (".".join(map(str, pair)) for pair in (self.torch, self.capability))
        return f"torch {torch}, sm {capability}, cudnn {self.cudnn}, {self.gpu or 'the library'}"


@dataclass(frozen=True)
class Answers:
    """The columns, and for each call the letters of its answers, one for each column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, Case], ...]

    def find_wrong_calls(self, step: int = 1) -> dict[Column, list[Case]]:
        """Map each column to the calls for which the rules give another answer. Only each
        `step`-th call is compared.
        """
        wrong: dict[Column, list[Case]] = {column: [] for column in self.columns}
        for letters, case in self.rows[::step]:
            with case.switches():
                call = case.call("meta")
                for column, letter in zip(self.columns, letters):
                    here = case.machine(column.capability, column.cudnn)
                    if LETTERS[choose(call, here, VERSIONS[column.torch]).backend] != letter:
                        wrong[column].append(case)
        return wrong


def read(path: Path | None = None) -> Answers:
    """Read recorded answers from a file, by default from ``answers.txt``."""
    path = path or ANSWERS
    head: list[Column] = []
    rows: list[tuple[str, Case]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# torch"):
            head.append(_parse_column(line))
        elif not line.startswith("#"):
            letters, _, case = line.partition(" ")
            rows.append((letters, parse(case)))
    return Answers(tuple(head), tuple(rows))


def _parse_column(line: str) -> Column:
    """Parse a column such as ``# torch 2.13, sm 9.0, cudnn 92000, the library``."""
    torch, capability, cudnn, gpu = line.removeprefix("# ").split(", ")
    sm_major, sm_minor = capability.split()[1].split(".")
    name = "" if gpu == "the library" else gpu
    return Column(
        Version.parse(torch.split()[1]).release,
        (int(sm_major), int(sm_minor)),
        int(cudnn.split()[1]),
        name,
    )


# ------------------------------------------------------------------------------ writing


def write_answers(folder: Path, path: Path) -> None:
    """Write the answers of all files in a folder; the files must have the same calls."""
    tables = sorted((_read_table(file) for file in sorted(folder.glob("*.txt"))), key=_sort_key)
    calls = [case for case, _ in tables[0][1]]
    for column, answers in tables:
        if [case for case, _ in answers] != calls:
            raise SystemExit(f"{column}: other calls than {tables[0][0]}")
    lines = [f"# {column}" for column, _ in tables]
    for number, case in enumerate(calls):
        lines.append("".join(LETTERS[rows[number][1]] for _, rows in tables) + f" {case}")
    about = "# PyTorch's own answers. c cuDNN, f flash, e memory-efficient, m math, - none."
    path.write_text("\n".join([about, *lines]) + "\n", encoding="utf-8")


AnswerTable = tuple[Column, list[tuple[str, str]]]


def _read_table(path: Path) -> AnswerTable:
    head: dict[str, str] = {}
    rows: list[tuple[str, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            name, _, value = line.removeprefix("# ").partition(": ")
            head[name] = value
        elif "[" not in line:  # a call with symbolic sizes has its guards in brackets
            answer, _, case = line.split(" ", 2)
            rows.append((case, answer))
    sm_major, sm_minor = head["capability"].split(".")
    gpu = "" if head["gpu"].startswith("none") else head["gpu"]
    capability = int(sm_major), int(sm_minor)
    return Column(Version.parse(head["torch"]).release, capability, int(head["cudnn"]), gpu), rows


def _sort_key(table: AnswerTable) -> tuple[object, ...]:
    column = table[0]
    return column.torch, column.capability, column.gpu


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each column; return 1 if a rule gives another answer, else 0."""
    parser = argparse.ArgumentParser(
        prog="tclab.workshop.verify.attention.replay", description=__doc__
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    options = parser.parse_args(arguments)
    if options.keep:
        write_answers(options.keep, ANSWERS)
    answers = read()
    wrong = answers.find_wrong_calls()
    for column, cases in wrong.items():
        print(f"{column}: {len(cases)} wrong of {len(answers.rows)}", *cases[:10], sep="\n    ")
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main())
