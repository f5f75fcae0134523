"""Measure `tclab open` beside tlparse, on the same traces in turns.

``PYTHONPATH=src python -m benchmarks.open_trace LOG… [--runs 5] [--repeat-to MB]`` makes a page of
each log, plain or compressed, with both tools. Printed of each: the wall-clock seconds of the
median run, those of the processor, the peak memory, and how often tlparse's time tclab takes, of
the processor, which a busy machine does not stretch. With ``--repeat-to`` a log of so many
megabytes is made by repeating the first one, and opened once by tclab alone.

tlparse is no dependency of the project: ``pip install tlparse``, or name it with ``--tlparse``.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import measure
from benchmarks.results import ROOT


@dataclass(frozen=True)
class Opened:
    """What one run took: wall-clock and processor seconds, and MiB at its peak."""

    seconds: float
    processor: float
    peak: float


def run(command: Sequence[str | Path], folder: Path) -> Opened:
    """Run a command in `folder`."""
    before = _processor_seconds()
    # compiled modules are kept, as those of an installed tclab are
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    done = measure(command, cwd=folder, env={"PYTHONPATH": str(ROOT / "src"), **kept})
    return Opened(done.seconds, _processor_seconds() - before, done.peak)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def with_tclab(log: Path) -> list[str | Path]:
    return [sys.executable, "-m", "tclab", "open", log, "-o", "page.html"]


def with_tlparse(tlparse: str, log: Path) -> list[str | Path]:
    return [tlparse, "--no-browser", "--overwrite", "-o", "out", log]


def unpack(log: Path, folder: Path) -> Path:
    """Return a log that is not compressed, which tlparse cannot read."""
    if log.suffix != ".gz":
        return log.resolve()
    plain = folder / log.stem
    with gzip.open(log) as packed, plain.open("wb") as out:
        shutil.copyfileobj(packed, out)
    return plain


def repeat(log: Path, megabytes: int, folder: Path) -> Path:
    """Return a log of at least so many megabytes, made by repeating another one."""
    content, long = log.read_bytes(), folder / "repeated.log"
    with long.open("wb") as out:
        while out.tell() < megabytes * 1_000_000:
            out.write(content)
    return long


def show(name: str, tool: str, log: Path, runs: Sequence[Opened]) -> Opened:
    """Print a row, and return the medians."""
    seconds, processor = (
        statistics.median(getattr(each, field) for each in runs)
        for field in ("seconds", "processor")
    )
    peak = max(each.peak for each in runs)
    size = log.stat().st_size / 1e6
    print(f"{name[-44:]:44} {size:8.1f} MB  {tool:8} {seconds:7.2f} s  {processor:7.2f} s "
          f"{peak:6.0f} MiB", flush=True)  # fmt: skip
    return Opened(seconds, processor, peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--repeat-to", type=int, metavar="MB")
    parser.add_argument("--tlparse", default=shutil.which("tlparse"))
    words = parser.parse_args()
    print(f"{'log':44} {'size':>11}  {'tool':8} {'wall':>9}  {'processor':>9} {'peak':>10}")
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for given in words.logs:
            log = unpack(given, folder)
            commands = {"tclab": with_tclab(log)}
            if words.tlparse:
                commands["tlparse"] = with_tlparse(words.tlparse, log)
            for command in commands.values():
                run(command, folder)  # the first one compiles modules and reads the files
            done: dict[str, list[Opened]] = {tool: [] for tool in commands}
            for _ in range(words.runs):  # in turns, so that both meet the same machine
                for tool, command in commands.items():
                    done[tool].append(run(command, folder))
            medians = {tool: show(given.name, tool, log, of) for tool, of in done.items()}
            if "tlparse" in medians:
                ratio = medians["tclab"].processor / medians["tlparse"].processor
                print(f"{'':44} tclab takes {ratio:.2f} times the processor's time of tlparse")
        if not words.tlparse:
            print("tlparse is not here, so nothing is compared: pip install tlparse")
        if words.repeat_to:
            long = repeat(unpack(words.logs[0], folder), words.repeat_to, folder)
            show("repeated", "tclab", long, [run(with_tclab(long), folder)])


if __name__ == "__main__":
    main()
