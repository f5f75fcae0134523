"""Format the answers of PyTorch and of the rules, and count where they differ."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import torch

from tclab.capturing.target.sdpa import torch_answers, versions
from tclab.capturing.target.sdpa.rule import AttentionRules


class AnswerPair(NamedTuple):
    """PyTorch's answer and the rules' answer for one call."""

    torch: str
    rules: str
    case: object


def installed_rules() -> AttentionRules | None:
    """Return the rules of the installed PyTorch; None if there are none."""
    return versions.rules_for(torch.__version__)


def time_answers(ask: Callable[[], list[AnswerPair]]) -> tuple[list[AnswerPair], float]:
    """Return the answers, and the seconds that asking took."""
    start = time.perf_counter()
    return ask(), time.perf_counter() - start


def describe_run(
    rows: list[AnswerPair], gpu: str, capability: tuple[int, int], seconds: float
) -> dict[str, str]:
    """Return facts about a run by name: the machine, and how often the rules were right."""
    return {
        "torch": torch.__version__,
        "commit": torch.version.git_version,
        "cuda": torch.version.cuda or "",
        "cudnn": str(torch_answers.cudnn_version()),
        "gpu": gpu,
        "capability": "{}.{}".format(*capability),
        "date": time.strftime("%Y-%m-%d"),
        "seconds": f"{seconds:.1f}",
        "cases": str(len(rows)),
        "different": str(sum(row.torch != row.rules for row in rows)),
        "answers": ", ".join(f"{k} {n}" for k, n in Counter(r.torch for r in rows).most_common()),
    }


def format_answers(head: dict[str, str], rows: list[AnswerPair]) -> str:
    """Return the file's text: the head, then a line for each case."""
    lines = [f"# {name}: {value}" for name, value in head.items()]
    return "\n".join([*lines, *(f"{row.torch} {row.rules} {row.case}" for row in rows)]) + "\n"


def print_summary(head: dict[str, str], rows: list[AnswerPair], most_cases: int = 40) -> int:
    """Print the head and the cases that differ; return 1 if there are any, else 0."""
    for name, value in head.items():
        print(f"{name}: {value}")
    wrong = [row for row in rows if row.torch != row.rules]
    for row in wrong[:most_cases]:
        print(f"  PyTorch {row.torch}, rules {row.rules}: {row.case}")
    return int(bool(wrong))
