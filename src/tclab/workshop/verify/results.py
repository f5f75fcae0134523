"""Define and store the data of a comparison: results, rows and the report, as JSON.

`OUT/gpu/` and `OUT/target/` contain a result file for each function, and `OUT/report.json` contains
all rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict, cast, get_args

from tclab.system import files

SIDES = ("gpu", "target")
#: The counts of kernels in a row and in a report.
Count = Literal["kernels", "identical", "measured", "either", "different", "refused"]
COUNTS: tuple[Count, ...] = get_args(Count)


class Variant(TypedDict):
    """Another result of a target's compile, with the opposite answers to questions that the GPU
    times.

    Its `wrappers` replace `instead_of` wrappers of the main result, after the first `after`
    wrappers. `questions` are the questions that the GPU times.
    """

    questions: list[str]
    wrappers: list[str]
    after: int
    instead_of: int


class Result(TypedDict, total=False):
    """The result of one function on one side.

    `status` is done, refused, failed or crashed; the last three have a `reason`. `wrappers` are the
    texts of the output code, one for each graph. A target's result also has `variants`, `gaps`
    (what it cannot show), `products` (keys of the products whose padding the GPU times), and
    `otherwise` (the variants compiled with the opposite answer to each measured choice).
    """

    status: str
    reason: str
    wrappers: list[str]
    variants: list[Variant]
    gaps: list[str]
    products: list[str]
    otherwise: list[Variant]
    seconds: float


class KernelCounts(TypedDict):
    """Counts of kernels. `measured` counts the identical kernels that depend on a measured
    choice.
    """

    kernels: int
    identical: int
    measured: int
    either: int
    different: int
    refused: int


class FunctionRow(KernelCounts):
    """The comparison of one function.

    `way` names the variant that the GPU chose, '' if there is only one result; `seconds` are the
    compile times of both sides.
    """

    name: str
    verdict: str
    reason: str
    way: str
    seconds: list[float | None]


class ComparisonReport(KernelCounts):
    """All rows and their counts.

    `environment` has the versions of torch and triton, and the gpu; `missing` are the functions
    that lack a result on a side.
    """

    environment: dict[str, str]
    missing: list[str]
    functions: list[FunctionRow]
    seconds: float


def result_path(out: Path, side: str, name: str) -> Path:
    """Return the path of a function's result on one side."""
    return out / side / f"{name.replace('/', '.')}.json"


def save(path: Path, data: Mapping[str, Any], indent: int | None = None) -> None:
    """Write a result or a report in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.replace(path, json.dumps(data, indent=indent) + "\n")


def load(out: Path, side: str, name: str) -> Result:
    """Read a function's result on one side."""
    return cast("Result", json.loads(result_path(out, side, name).read_text(encoding="utf-8")))


def read_report(path: Path) -> ComparisonReport:
    """Read a report. Verdicts that an earlier tclab wrote get the names that tclab uses now."""
    data = json.loads(path.read_text(encoding="utf-8"))
    data["functions"] = [
        row | {"verdict": rename_verdict(row["verdict"])} for row in data["functions"]
    ]
    return cast("ComparisonReport", data)


def rename_verdict(word: str) -> str:
    """Return the name that tclab now uses for a verdict; earlier versions wrote ``open`` as ``one
    of two``.
    """
    return "open" if word == "one of two" else word


def describe_environment() -> dict[str, str]:
    """Return the versions of torch and triton, and the name of the GPU or ''."""
    import torch
    import triton

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return {"torch": torch.__version__, "triton": triton.__version__, "gpu": gpu}
