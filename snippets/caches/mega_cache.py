"""Caches as bytes: saved by one process, loaded by another that has an empty folder.

The third process has the folder of the first, and loads nothing.
"""

import tempfile
import time

import torch
from _process import in_a_process
from torch._dynamo.utils import compilation_time_metrics, counters

import tclab


def f(x):
    return torch.relu(x).sum(-1)


def compiled(x, artifacts=None):
    """The bytes saved after one call, what they hold, and what the call met."""
    if artifacts:
        torch.compiler.load_cache_artifacts(artifacts)
    start = time.perf_counter()
    right = torch.allclose(torch.compile(f)(x), f(x))
    seconds = time.perf_counter() - start
    hits = counters["aot_autograd"]["autograd_cache_hit"], counters["inductor"]["fxgraph_cache_hit"]
    compiler = len(compilation_time_metrics.get("compile_file", ()))
    saved, info = torch.compiler.save_cache_artifacts()
    kept = {kind: len(keys) for kind, keys in info.artifacts.items()}
    return saved, kept, (*hits, compiler, seconds, right)


with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
    x = torch.randn(64, 64)
    artifacts, kept, first = in_a_process(compiled, one, x)
    loaded = in_a_process(compiled, other, x, artifacts)[2]
    same_folder = in_a_process(compiled, one, x)[2]
met = {
    "an empty folder": first,
    "an empty folder, artifacts loaded": loaded,
    "the folder of the first": same_folder,
}

tclab.show(
    tclab.Table(
        title="Three processes",
        name="processes",
        columns=(
            "process with",
            "hits, AOTAutograd",
            "hits, Inductor",
            "runs of the C++ compiler",
            "first call",
        ),
        units=("", "", "", "", "s"),
        formats=("", "d", "d", "d", ".2f"),
        rows=[(name, *row[:4]) for name, row in met.items()],
    )
)
tclab.show(
    tclab.Table(
        title="What was saved",
        name="saved",
        columns=("what", "how many"),
        rows=[*kept.items(), ("bytes in all", len(artifacts))],
    )
)

# claim: both-caches-are-saved
assert kept["aot_autograd"] >= 1 and kept["inductor"] >= 1  # all that the process made
# claim: loaded-artifacts-hit
assert first[:2] == (0, 0) and loaded[:2] == (1, 1)
# claim: compiled-objects-are-not-in-it
assert loaded[2] > 0
# claim: with-the-folder-nothing-is-compiled
assert same_folder[2] == 0 and same_folder[:2] == (1, 1)
# claim: all-three-are-right
assert all(row[-1] for row in met.values())
