"""Count the kernels that come out the same when the graphs of traces are compiled again.

    python -m benchmarks.replay make FOLDER [--target h200] [NAME …]
    python -m benchmarks.replay read FOLDER … [--python PATH] [--plant]

`make` compiles the catalogue's functions, each in its turn, with PyTorch's trace written to FOLDER:
for this CPU, or for a target. The kernels are not built, and no function is run. `read` compiles
each graph of the traces again and prints a row for each graph that is not the same as in the trace,
then the counts. With ``--plant`` it changes an operator in each graph first, so that a graph whose
kernels all stay the same is a fault of the comparison.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tclab.capturing.trace.records import read_log
from tclab.jobs import inputs
from tclab.jobs.again.graphs import RECORDS, TracedGraph, find_graphs
from tclab.jobs.again.running import replay_graphs
from tclab.jobs.again.verdicts import DIFFERS, SAME
from tclab.model import JobReplay

_FAMILIES = ("indexing", "pointwise", "products", "reductions")
#: An operator → the one that is planted in its place. Both take the same arguments.
_PLANTED = {
    "aten.add.Tensor": "aten.sub.Tensor",
    "aten.mul.Tensor": "aten.add.Tensor",
    "aten.sub.Tensor": "aten.mul.Tensor",
    "aten.exp.default": "aten.sin.default",
    "aten.relu.default": "aten.neg.default",
    "aten.rsqrt.default": "aten.exp.default",
    "aten.sum.dim_IntList": "aten.mean.dim",
}


def make(folder: Path, target: str, names: Sequence[str]) -> None:
    """Write a trace of each family, in a process of its own."""
    for family in [name for name in _FAMILIES if not names or name in names]:
        out = folder / family
        out.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.replay", "compile", str(out), family]
        environment = {**os.environ, "TORCH_TRACE": str(out)}
        subprocess.run([*command, "--target", target], env=environment, check=False)


def compile_family(family: str, target: str) -> None:
    """Compile the functions of a family, for a target or for this CPU if it is ''."""
    import torch

    from tclab.capturing.backward import run_backward
    from tclab.capturing.target import capture, inductor
    from tclab.capturing.target.timing.variants import Wrappers
    from tclab.workshop.catalog import examples

    for name, example in examples().items():
        if example.family != family:
            continue
        torch.compiler.reset()
        fn, arguments = example.make()
        options = dict(example.options)
        try:
            if target:
                asked = {"options": options, "assume": {"pad": "no"}, "backward": example.backward}
                capture.capture_for(fn, target, [(arguments, {})], **asked)
                continue
            with inductor.stopping_after_code(Wrappers()), inductor.patching_settings(True):
                result = torch.compile(fn, **options)(*arguments)
                if example.backward:
                    run_backward(result)
        except Exception as error:
            if "cannot run here" not in str(error):
                print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:120]}")


def read_graphs(folder: Path) -> Iterator[tuple[str, list[TracedGraph]]]:
    """Yield the graphs of each trace in a folder."""
    for file in inputs.find_inputs(folder):
        text = file.text()
        if inputs.detect_kind(text) == "trace":
            yield file.name, [*find_graphs(read_log(text, also=RECORDS).trace)]


def plant(graph: TracedGraph) -> TracedGraph:
    """Return a graph with another operator in place of the first one that has a counterpart."""
    text = graph.question.runnable
    found = re.search("|".join(rf"torch\.ops\.({re.escape(name)})\(" for name in _PLANTED), text)
    if found is None:
        return replace(graph, code="")
    name = next(each for each in found.groups() if each)
    changed = text.replace(f"torch.ops.{name}(", f"torch.ops.{_PLANTED[name]}(", 1)
    return replace(graph, question=replace(graph.question, runnable=changed))


def read(folders: Sequence[Path], python: str, planted: bool) -> None:
    """Compile each graph of the traces again, and print what is not the same, and the counts."""
    counts: Counter[str] = Counter()
    for folder in folders:
        for name, traced in read_graphs(folder):
            changed = [each for each in map(plant, traced) if each.code]
            graphs = [("", each) for each in (changed if planted else traced)]
            for replay in replay_graphs(graphs, python=python):
                counts.update(_count(replay, f"{folder.name}/{name[:24]}"))
    for key in sorted(counts):
        print(f"{counts[key]:6d} {key}")


def _count(replay: JobReplay, place: str) -> Iterator[str]:
    yield "graphs"
    kernels = [each for each in replay.kernels if each.name]
    for each in kernels:
        yield f"kernels: {each.verdict}"
    if replay.cause:
        yield f"graphs not compiled again: {replay.cause[:110]}"
        print(f"{place} {replay.compile_id} {replay.direction}: {replay.cause}")
    elif kernels and all(each.verdict == SAME for each in replay.kernels):
        yield "graphs that are the same in all, kernels and calls"
    for each in replay.kernels:
        if each.verdict == DIFFERS:
            print(f"{place} {replay.compile_id} {replay.direction} {each.name or 'calls'}")
            print("    " + "\n    ".join(each.difference.splitlines()[2:16]))
    if replay.kernels and replay.kernels[-1].verdict == SAME:
        yield "graphs whose calls are the same"


def main() -> None:
    """Run the command that was given."""
    parser = argparse.ArgumentParser(prog="benchmarks.replay", description=__doc__)
    parser.add_argument("command", choices=("make", "compile", "read"))
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--target", default="")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--plant", action="store_true")
    asked = parser.parse_args()
    first, *rest = asked.folders
    if asked.command == "make":
        make(Path(first), asked.target, rest)
    elif asked.command == "compile":
        compile_family(rest[0], asked.target)
    else:
        read([Path(each) for each in asked.folders], asked.python, asked.plant)


if __name__ == "__main__":
    main()
