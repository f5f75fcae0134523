"""Compare a target's kernels with those of the real GPU, function by function of the corpus.

    python -m tclab.verify.compare --out DIR [--target h200] [--jobs 16] [NAME …]

On the machine with the GPU, every function is compiled twice by the same PyTorch, in
processes of their own: on the GPU by plain ``torch.compile``, and for the target in a process
that sees no GPU. Kernels are compared as text, with nothing removed: names,
device properties and configurations count. Of the output code around them, only the counter of
graphs and the names of cache files are taken out. What is already in DIR is not done again.
"""

from __future__ import annotations

import argparse
import difflib
import json
import logging
import os
import re
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

SIDES = ("gpu", "target")

#: The exit status of a command line that names what is not in the corpus; stderr says what.
UNKNOWN_NAME = 3


class UnknownName(LookupError):
    """There is no function or family of this name."""


def main(arguments: list[str] | None = None) -> int:
    """Run everything and print a report; 1 if a kernel differs, UNKNOWN_NAME for one, else 0."""
    parser = argparse.ArgumentParser(prog="tclab.verify.compare", description=__doc__)
    parser.add_argument("names", nargs="*", help="functions or families; all by default")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--target", default="h200")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--worker", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        names = chosen(options.names)
    except UnknownName as error:
        print(error, file=sys.stderr)
        return UNKNOWN_NAME
    if options.worker:
        for name in names:
            work(name, options.worker, options.target, options.out)
        return 0
    start = time.perf_counter()
    run_all(names, options)
    report = compare_all(names, options.out)
    report["seconds"] = round(time.perf_counter() - start, 1)
    (options.out / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(summary(report))
    return 1 if report["different"] else 0


def chosen(names: list[str]) -> list[str]:
    """The examples of these names or families. UnknownName for those that are neither."""
    from tclab.verify.corpus import examples

    picked = [n for n in examples() if not names or n in names or n.split("/")[0] in names]
    if unknown := [n for n in names if not any(n in (p, p.split("/")[0]) for p in picked)]:
        raise UnknownName(f"no such function or family: {', '.join(unknown)}")
    return picked


# ------------------------------------------------------------------------------ running


def run_all(names: list[str], options: argparse.Namespace) -> None:
    """Start processes for what is missing in the results, as many at a time as `jobs`."""
    missing = {s: [n for n in names if not _file(options.out, s, n).exists()] for s in SIDES}
    share = max(1, options.jobs // 2)
    batches = [(side, missing[side][i::share]) for side in SIDES for i in range(share)]
    wanted = [batch for batch in batches if batch[1]]
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda batch: _batch(batch[0], batch[1], options), wanted))


def _batch(side: str, names: list[str], options: argparse.Namespace) -> None:
    """One process for several functions; another goes on where one dies."""
    while names:
        done = subprocess.run(
            [sys.executable, "-m", "tclab.verify.compare", "--worker", side, "--out",
             options.out, "--target", options.target, *names],
            env=_environment(side), capture_output=True, text=True, check=False,
        )  # fmt: skip
        left = [n for n in names if not _file(options.out, side, n).exists()]
        if left:
            last = (done.stderr or done.stdout)[-1500:]
            _save(options.out, side, left[0], {"status": "crashed", "reason": last})
        names = left[1:]


def _environment(side: str) -> dict[str, str]:
    """Many processes share the cores, so each compiles in one thread; no setting changes code."""
    own = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1", "PYTHONHASHSEED": "0"}
    if side == "target":
        own["CUDA_VISIBLE_DEVICES"] = ""
    return {**os.environ, **own}


def work(name: str, side: str, target: str, out: Path) -> None:
    """Compile one function on one side and save what came of it."""
    from tclab.verify.corpus import examples

    start = time.perf_counter()
    try:
        wrappers = (on_gpu if side == "gpu" else for_target)(examples()[name], target)
        result: dict[str, Any] = {"status": "done", "wrappers": wrappers}
    except Exception as error:
        from tclab.targets import TargetError

        status = "refused" if isinstance(error, TargetError) else "failed"
        text = str(error) if status == "refused" else traceback.format_exc()[-4000:]
        result = {"status": status, "reason": text}
    _save(out, side, name, result | {"seconds": round(time.perf_counter() - start, 2)})


def for_target(example: Any, target: str) -> list[str]:
    """The output code the target gets, without a GPU."""
    import torch

    from tclab.capturing.target.capture import capture_for

    torch.manual_seed(0)
    fn, args = example.make()
    capture = capture_for(fn, target, [(args, {})], backward=example.backward,
                          options=example.options)  # fmt: skip
    return list(capture.wrapper_code)


def on_gpu(example: Any, target: str) -> list[str]:
    """The output code of plain ``torch.compile`` on the GPU that is here, run as users run it.

    Nothing of tclab's is switched on: PyTorch's own trace is listened to, which holds the code.
    """
    import torch

    from tclab.capturing.backward import run_backward
    from tclab.capturing.target.inductor import map_tensors
    from tclab.capturing.torch_private.compiler import trace_handler

    torch.manual_seed(0)
    fn, args = example.make()
    fn, args = moved(fn), map_tensors(to_gpu, args)
    torch.compiler.reset()  # makers share code, which would be compiled with symbolic sizes
    heard = OutputCode()
    with trace_handler(heard):
        result = torch.compile(fn, **example.options)(*args)
        if example.backward:
            run_backward(result)
    return heard.texts


class OutputCode(logging.Handler):
    """Keeps the output code that Inductor writes into the structured trace."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "inductor_output_code" in getattr(record, "metadata", {}):
            self.texts.append(record.payload)  # type: ignore[attr-defined]


def to_gpu(tensor: Any) -> Any:
    """The tensor on the GPU: a leaf with the same strides."""
    import torch

    there = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cuda")
    there.copy_(tensor.detach())
    return there.requires_grad_(tensor.requires_grad)


def moved(fn: Any) -> Any:
    """The function with the modules and tensors it closes over on the GPU."""
    import torch

    if isinstance(fn, torch.nn.Module):
        return fn.to("cuda")
    for cell in getattr(fn, "__closure__", None) or ():
        value = cell.cell_contents
        if isinstance(value, torch.nn.Module):
            value.to("cuda")
        elif isinstance(value, torch.Tensor):
            cell.cell_contents = to_gpu(value)
    return fn


def _file(out: Path, side: str, name: str) -> Path:
    return out / side / f"{name.replace('/', '.')}.json"


def _save(out: Path, side: str, name: str, result: dict[str, Any]) -> None:
    file = _file(out, side, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(result), encoding="utf-8")
    new.replace(file)


# ------------------------------------------------------------------------------ comparing


def compare_all(names: list[str], out: Path) -> dict[str, Any]:
    """The report: counts of kernels, and a row a function."""
    rows = [compare(name, *[_load(out, side, name) for side in SIDES]) for name in names]
    total = {k: sum(r[k] for r in rows) for k in ("kernels", "identical", "different", "refused")}
    return total | {"environment": environment(), "functions": rows}


def environment() -> dict[str, str]:
    """The versions both sides were made with."""
    import torch
    import triton

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return {"torch": torch.__version__, "triton": triton.__version__, "gpu": gpu}


def _load(out: Path, side: str, name: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(_file(out, side, name).read_text(encoding="utf-8")))


def compare(name: str, gpu: dict[str, Any], target: dict[str, Any]) -> dict[str, Any]:
    """One function: how many kernels are identical, different, refused, and why."""
    row = {"name": name, "kernels": 0, "identical": 0, "different": 0, "refused": 0,
           "seconds": [gpu.get("seconds"), target.get("seconds")]}  # fmt: skip
    if gpu["status"] != "done":
        return row | {"verdict": f"gpu {gpu['status']}", "reason": gpu["reason"]}
    real = _kernels(gpu["wrappers"])
    row["kernels"] = len(real)
    if target["status"] != "done":
        counted = "refused" if target["status"] == "refused" else "different"
        return row | {"verdict": target["status"], counted: len(real), "reason": target["reason"]}
    ours = _kernels(target["wrappers"])
    same = sum(a == b for a, b in zip(real, ours))
    row |= {"identical": same, "different": max(len(real), len(ours)) - same}
    calls = [_normal(w) for w in gpu["wrappers"]] == [_normal(w) for w in target["wrappers"]]
    verdict = "different" if row["different"] else _same(len(real), calls)
    diff = "" if calls else _diff(gpu["wrappers"], target["wrappers"])
    return row | {"verdict": verdict, "reason": diff}


def _kernels(wrappers: list[str]) -> list[tuple[str, str]]:
    """Name and source of each Triton kernel."""
    from tclab.capturing.read.output_code import OutputCode

    files = map(OutputCode.read, wrappers)
    return [kernel for file in files for kernel in file.triton_sources().items()]


def _same(kernels: int, calls: bool) -> str:
    if not kernels:
        return "no kernels"
    return "identical" if calls else "same kernels"


def _normal(wrapper: str) -> str:
    """Output code without what differs from process to process: the counter of graphs, the names
    of cache files, and the handles that a capture has Inductor write above calls.
    """
    from tclab.capturing.read import output_code

    text = re.sub(r"^# (AOT ID|kernel path): .*\n", "", wrapper, flags=re.MULTILINE)
    return output_code.without_handles(text)


def _diff(gpu: list[str], target: list[str]) -> str:
    a, b = (_normal("\n".join(side)).splitlines() for side in (gpu, target))
    lines = difflib.unified_diff(a, b, "gpu", "target", lineterm="", n=1)
    return "\n".join(line[:400] for line in lines)[:6000]


def summary(report: dict[str, Any]) -> str:
    """The report in a few lines, with the first line of each reason."""
    lines = [" ".join(f"{k}={v}" for k, v in report.items() if k != "functions")]
    for row in report["functions"]:
        reason = next((x for x in (row.get("reason") or "").splitlines() if x.strip()), "")
        shown = "" if row["verdict"] == "identical" else reason[:150]
        count = f"{row['identical']}/{row['kernels']}"
        lines.append(f"{row['verdict']:<13} {count} {row['name']} {shown}")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
