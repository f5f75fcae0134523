"""Time ``tclab explain`` of a small MLP from the command to the finished report, and each step.

Three states: nothing cached at all (the first C++ kernel of this machine: PyTorch tries the vector
instructions and precompiles a header), a function that was never compiled on a machine that has
compiled others, and the same for a GPU that is not there. Medians of five, each of a function of
its own.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.measure import CommandFailed, Measured, measure
from benchmarks.results import HERE, ROOT, WORK, Figure, Parts

TIMES = 5
FOLDER = WORK / "explain"

MODEL = """\
import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        hidden = nn.functional.gelu(self.up(x)) * {factor}
        return self.down(hidden) + x * {factor}


def example_inputs():
    return (torch.randn(8, 256),)
"""

WAYS = {
    "first": ("the first C++ kernel of the machine", "", []),
    "here": ("", "<=10", []),
    "h200": ("for an H200 that is not there", "<=10", ["--target", "h200"]),
}


def figures(parts: Parts) -> Iterable[Figure]:
    """Return the seconds to the finished report, and of each step."""
    for name, (how, limit, words) in WAYS.items():
        seconds = parts.get(f"explain/{name}", lambda n=name, w=words: command(n, w))
        split = parts.get(f"explain/{name}/steps", lambda n=name, w=words: steps(n, w))
        yield Figure(
            name=f"e explain {name}",
            what="`tclab explain` of a small MLP to the finished report" + f", {how}" * bool(how),
            value=statistics.median(seconds),
            limit=limit,
            unit=" s",
            note="; ".join(f"{step} {each:.1f} s" for step, each in split.items()),
        )


def command(name: str, words: list[str]) -> list[float]:
    """Return the seconds of the whole command, with the start and the end of Python."""
    times = 1 if name == "first" else TIMES
    prepared(name)
    return [round(run(name, factor, words).seconds, 2) for factor in range(2, 2 + times)]


def prepared(name: str) -> None:
    """Make empty caches; unless the first run counts, another function fills them."""
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    (FOLDER / name / "tmp").mkdir(parents=True)
    if name != "first":
        run(name, 1, [])


def run(name: str, factor: int, words: list[str]) -> Measured:
    """Run one command on a function that differs by a factor from every other."""
    folder = FOLDER / name
    (folder / "mlp.py").write_text(MODEL.format(factor=factor), encoding="utf-8")
    spec = [sys.executable, "-m", "tclab", "explain", "mlp.py:MLP", "-o", "report.html", *words]
    done = measure(spec, cwd=folder, env=variables(name))
    prove(folder / "report.html")
    return done


def variables(name: str) -> dict[str, str]:
    """Return the variables for a run: PyTorch keeps compiled code below TMPDIR."""
    path = FOLDER / name / "tmp"
    return {"TMPDIR": str(path), "TRITON_CACHE_DIR": str(path), "PYTHONPATH": str(ROOT / "src")}


def prove(report: Path) -> None:
    """Raise CommandFailed unless the report has its kernels: missing work takes no time."""
    if "gelu" not in (text := report.read_text(encoding="utf-8")) or "data-stage=" not in text:
        raise CommandFailed(f"{report}: no kernel in it")
    report.unlink()


def steps(name: str, words: list[str]) -> dict[str, Any]:
    """Return the seconds of each step of one more run."""
    prepared(name)
    folder = FOLDER / name
    (folder / "mlp.py").write_text(MODEL.format(factor=99), encoding="utf-8")
    target = words[-1] if words else ""
    done = measure(
        [sys.executable, HERE / "explain_steps.py", "mlp.py:MLP", target],
        cwd=folder,
        env=variables(name),
    )
    seconds: dict[str, Any] = json.loads(done.output.splitlines()[-1])
    return seconds
