"""What the comparison is made of, as it is kept in JSON: a result a side, a row a function, the
report. `OUT/gpu/` and `OUT/target/` have a file a function, `OUT/report.json` all rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict, cast, get_args

from tclab import files

SIDES = ("gpu", "target")
#: What kernels are counted as.
Count = Literal["kernels", "identical", "measured", "either", "different", "refused"]
COUNTS: tuple[Count, ...] = get_args(Count)


class Variant(TypedDict):
    """Another way that a target's compile may go, where the GPU would time something: `wrappers`
    stand for `instead_of` of the first way's, after its first `after`.
    """

    questions: list[str]
    wrappers: list[str]
    after: int
    instead_of: int


class Result(TypedDict, total=False):
    """One function on one side. `status` is done, refused, failed or crashed, the latter three with
    a `reason`. Of what is done `wrappers` are the texts of the output code, a graph each; a target
    also has its variants, what it cannot show, the keys of all products whose padding the GPU
    times, and `otherwise`: what the code were if all that was measured came out otherwise.
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
    """How many kernels there are, and what they are counted as. Of the identical ones `measured`
    are shown because of a measured choice.
    """

    kernels: int
    identical: int
    measured: int
    either: int
    different: int
    refused: int


class FunctionRow(KernelCounts):
    """The comparison of one function. `way` says which of several the GPU went, '' where there is
    one; `seconds` are those of both sides.
    """

    name: str
    verdict: str
    reason: str
    way: str
    seconds: list[float | None]


class ComparisonReport(KernelCounts):
    """All rows; `environment` has the versions of torch and triton, and the gpu; `missing` are the
    functions that a side has no result of yet.
    """

    environment: dict[str, str]
    missing: list[str]
    functions: list[FunctionRow]
    seconds: float


def file(out: Path, side: str, name: str) -> Path:
    """Where the result of one side of a function is kept."""
    return out / side / f"{name.replace('/', '.')}.json"


def save(path: Path, data: Mapping[str, Any], indent: int | None = None) -> None:
    """Keep a result or a report; it is there as a whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.replace(path, json.dumps(data, indent=indent) + "\n")


def load(out: Path, side: str, name: str) -> Result:
    """A result as it was saved."""
    return cast("Result", json.loads(file(out, side, name).read_text(encoding="utf-8")))


def report(path: Path) -> ComparisonReport:
    """A report as it was saved; verdicts of an earlier tclab have the words of this one."""
    data = json.loads(path.read_text(encoding="utf-8"))
    data["functions"] = [row | {"verdict": verdict(row["verdict"])} for row in data["functions"]]
    return cast("ComparisonReport", data)


def verdict(word: str) -> str:
    """A verdict that an earlier tclab wrote, as it is called now."""
    return "open" if word == "one of two" else word


def environment() -> dict[str, str]:
    """The versions both sides were made with."""
    import torch
    import triton

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return {"torch": torch.__version__, "triton": triton.__version__, "gpu": gpu}
