"""Count the kernels that come out the same when the graphs of traces are compiled again.

    python -m benchmarks.replay make FOLDER [--target h200] [NAME …]
    python -m benchmarks.replay read FOLDER … [--python PATH] [--plant]
    python -m benchmarks.replay equal FOLDER

`make` compiles the catalogue's functions, and with a NAME such as ``bert_base`` or
``unet_training`` a model of it, with PyTorch's trace written to FOLDER: for this CPU, or for a
target. The kernels are not built. `read` compiles each graph of the traces again and prints a row
for each graph that is not the same as in the trace, then the counts, and Inductor's seconds in the
traces beside those of the second compile. With ``--plant`` it changes an operator in each graph
first, so that a graph whose kernels all stay the same is a fault of the comparison.

`equal` makes a job of 60 graphs of which 10 differ, for this CPU, and prints the processor's
seconds and those of the clock: of its compiles, without the start of PyTorch, and of compiling the
graphs again, each by itself, equal ones once, and once more with what was kept.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

from tclab.capturing.trace.names import ChromeEvent
from tclab.capturing.trace.records import read_log
from tclab.jobs import inputs
from tclab.jobs.again.graphs import RECORDS, TracedGraph, find_graphs
from tclab.jobs.again.running import replay_graphs
from tclab.jobs.again.verdicts import DIFFERS, SAME
from tclab.model import JobReplay
from tclab.workshop.catalog import Example

#: The graphs of the job with equal ones, how many of them differ, and the family of its functions.
_GRAPHS, _DIFFERENT, _FAMILY = 60, 10, "pointwise"
_FAMILIES = ("indexing", "pointwise", "products", "reductions")
#: Where Inductor begins and ends with a graph, in the events for Chrome's trace viewer.
_INDUCTOR = "inductor_compile"
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
    """Write a trace of each family or model, in a process of its own."""
    for family in names or _FAMILIES:
        out = folder / family
        out.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.replay", "compile", str(out), family]
        environment = {**os.environ, "TORCH_TRACE": str(out)}
        subprocess.run([*command, "--target", target], env=environment, check=False)


def find_examples(name: str) -> Iterator[Example]:
    """Yield the functions of a family, or the model with this name."""
    from tclab.workshop.catalog import examples
    from tclab.workshop.catalog.models import torch_models, whole

    plain = name.removesuffix("_training")
    if name in _FAMILIES:
        yield from (each for each in examples().values() if each.family == name)
    elif plain in whole.MODELS:
        yield Example(name, whole.MODELS[plain], plain != name)
    else:
        build = getattr(torch_models, name)
        yield Example(name, lambda: build("cpu", batch=2).call(), plain != name)


def compile_examples(name: str, target: str) -> None:
    """Compile the functions of a family or a model, for a target or for this CPU if it is ''."""
    import torch

    for example in find_examples(name):
        torch.compiler.reset()
        try:
            _compile(example, target)
        except Exception as error:
            if "cannot run here" not in str(error):
                line = str(error).splitlines()[0][:120]
                print(f"{example.name}: {type(error).__name__}: {line}")


def _compile(example: Example, target: str) -> None:
    import torch
    from torch import nn

    from tclab.capturing.backward import run_backward
    from tclab.capturing.target import capture, inductor
    from tclab.capturing.target.timing.variants import Wrappers

    fn, arguments = example.make()
    options = dict(example.options)
    if example.backward and isinstance(fn, nn.Module):
        fn.train().requires_grad_(True)
    if target:
        asked = {"options": options, "assume": {"pad": "no"}, "backward": example.backward}
        capture.capture_for(fn, target, [(arguments, {})], **asked)
        return
    with inductor.stopping_after_code(Wrappers()), inductor.patching_settings(True):
        result = torch.compile(fn, **options)(*arguments)
        if example.backward:
            run_backward(result)


def read_graphs(folder: Path) -> Iterator[tuple[str, list[TracedGraph], float]]:
    """Yield the graphs of each trace in a folder, and the seconds that Inductor took for them."""
    for file in inputs.find_inputs(folder):
        text = file.text()
        if inputs.detect_kind(text) == "trace":
            moments: list[float] = []
            trace = read_log(text, also=RECORDS, on_phase=partial(_add_moment, moments)).trace
            yield file.name, [*find_graphs(trace)], sum(moments)


def _add_moment(moments: list[float], event: ChromeEvent) -> None:
    """Add the seconds of an end, less those of a beginning."""
    if event["name"] == _INDUCTOR and event["ph"] in ("B", "E"):
        moments.append(event["ts"] / 1e6 * (1 if event["ph"] == "E" else -1))


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
    before = after = 0.0
    for folder in folders:
        for name, traced, seconds in read_graphs(folder):
            before += seconds
            changed = [each for each in map(plant, traced) if each.code]
            graphs = [("", each) for each in (changed if planted else traced)]
            for replay in replay_graphs(graphs, python=python):
                counts.update(_count(replay, f"{folder.name}/{name[:24]}"))
                after += replay.seconds
    for key in sorted(counts):
        print(f"{counts[key]:6d} {key}")
    print(f"{before:6.1f} s of Inductor in the traces, {after:.1f} s compiled again")


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


def compile_equal() -> None:
    """Compile ten functions of the catalogue six times each, for this CPU. The kernels are not
    built.
    """
    import torch

    from tclab.capturing.target import inductor
    from tclab.capturing.target.timing.variants import Wrappers

    examples = [each for each in find_examples(_FAMILY) if not each.backward][:_DIFFERENT]
    calls = [each.make() for each in examples]
    calls = calls * (_GRAPHS // _DIFFERENT)
    with (
        inductor.stopping_after_code(Wrappers()),
        inductor.patching_settings(False),
        measuring("compiled in the job", len(calls)),
    ):
        for fn, arguments in calls:
            torch.compiler.reset()
            with suppress(RuntimeError):  # the code is not loaded
                torch.compile(fn)(*arguments)


@contextmanager
def measuring(title: str, graphs: int) -> Iterator[None]:
    """Print the processor's seconds of the block and of its finished children, and the clock's."""
    began, used = time.perf_counter(), _processor()
    yield
    seconds, of_clock = _processor() - used, time.perf_counter() - began
    print(f"{title}: {graphs} graphs, {seconds:.1f} s of the processor, {seconds / graphs:.2f} s a "
          f"graph, {of_clock:.1f} s of the clock", flush=True)  # fmt: skip


def _processor() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def equal(folder: Path) -> None:
    """Make the job with equal graphs, and compile them again in three ways."""
    out = folder / "equal"
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "benchmarks.replay", "compile", str(out), "equal"]
    subprocess.run(command, env={**os.environ, "TORCH_TRACE": str(out)}, check=True)
    graphs = [("", each) for _, traced, _ in read_graphs(out) for each in traced]
    alone = [("", _with_comment(each, number)) for number, (_, each) in enumerate(graphs)]
    ways = {"each by itself": alone, "equal graphs once": graphs, "once more, kept": graphs}
    with (
        tempfile.TemporaryDirectory() as cache,
        mock.patch.dict(os.environ, {"XDG_CACHE_HOME": cache}),
    ):
        for title, asked in ways.items():
            different = len({each.question.to_json() for _, each in asked})
            with measuring(f"{title} ({different} differ)", len(asked)):
                counts = Counter(
                    kernel.verdict for each in replay_graphs(asked) for kernel in each.kernels
                )
            print(f"    {dict(counts)}")


def _with_comment(graph: TracedGraph, number: int) -> TracedGraph:
    """Return the graph with a comment in its text, so that it equals no other one."""
    text = f"{graph.question.runnable}\n# {number}\n"
    return replace(graph, question=replace(graph.question, runnable=text))


def main() -> None:
    """Run the command that was given."""
    parser = argparse.ArgumentParser(prog="benchmarks.replay", description=__doc__)
    parser.add_argument("command", choices=("make", "compile", "read", "equal"))
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--target", default="")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--plant", action="store_true")
    asked = parser.parse_args()
    first, *rest = asked.folders
    if asked.command == "make":
        make(Path(first), asked.target, rest)
    elif asked.command == "equal":
        equal(Path(first))
    elif asked.command == "compile" and rest == ["equal"]:
        compile_equal()
    elif asked.command == "compile":
        compile_examples(rest[0], asked.target)
    else:
        read([Path(each) for each in asked.folders], asked.python, asked.plant)


if __name__ == "__main__":
    main()
