"""What was asked, what was answered, and how often the rules were right: as text."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import torch

from tclab.capturing.target.sdpa import asked, versions
from tclab.capturing.target.sdpa.rule import AttentionRules


class AnswerPair(NamedTuple):
    """One call: PyTorch's own answer, the rules' answer, the call."""

    torch: str
    rules: str
    case: object


def version() -> AttentionRules | None:
    """The rules of the PyTorch that is here."""
    return versions.of(torch.__version__)


def timed(ask: Callable[[], list[AnswerPair]]) -> tuple[list[AnswerPair], float]:
    """The rows, and the seconds it took."""
    start = time.perf_counter()
    return ask(), time.perf_counter() - start


def facts(
    rows: list[AnswerPair], gpu: str, capability: tuple[int, int], seconds: float
) -> dict[str, str]:
    """Which machine answered, and how often the rules were right."""
    return {
        "torch": torch.__version__,
        "commit": torch.version.git_version,
        "cuda": torch.version.cuda or "",
        "cudnn": str(asked.cudnn_version()),
        "gpu": gpu,
        "capability": "{}.{}".format(*capability),
        "date": time.strftime("%Y-%m-%d"),
        "seconds": f"{seconds:.1f}",
        "cases": str(len(rows)),
        "different": str(sum(row.torch != row.rules for row in rows)),
        "answers": ", ".join(f"{k} {n}" for k, n in Counter(r.torch for r in rows).most_common()),
    }


def text(head: dict[str, str], rows: list[AnswerPair]) -> str:
    """The file: the head, then a line a case."""
    lines = [f"# {name}: {value}" for name, value in head.items()]
    return "\n".join([*lines, *(f"{row.torch} {row.rules} {row.case}" for row in rows)]) + "\n"


def say(head: dict[str, str], rows: list[AnswerPair], most: int = 40) -> int:
    """Print the head and the cases that differ; 1 if there are any."""
    for name, value in head.items():
        print(f"{name}: {value}")
    wrong = [row for row in rows if row.torch != row.rules]
    for row in wrong[:most]:
        print(f"  PyTorch {row.torch}, rules {row.rules}: {row.case}")
    return int(bool(wrong))
