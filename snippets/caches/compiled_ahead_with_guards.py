"""`aot_compile`: one entry of `torch.compile` as a file, its guards with it.

A second process has an empty cache folder, loads the file and calls it. What the file holds is
looked up in the loaded object.
"""
# tclab: needs=cxx timeout=180

import re
import tempfile
from pathlib import Path

import torch
from _process import in_a_process
from torch._dynamo.utils import compilation_time_metrics, counters

import tclab

torch._dynamo.config.enable_aot_compile = True  # of itself from 2.12 on
scale = 2.0


def f(x, times):
    return torch.relu(x).sum(-1) * times * scale


def breaks(x):
    torch._dynamo.graph_break()
    return x + 1


def said(call, *args):
    """Whether a call's result is eager's, or what was raised."""
    try:
        result = call(*args)
    except Exception as error:
        failed = re.search(r'verbose_code_parts=\["(.*?)(  #|")', str(error))
        return f"{type(error).__name__}: {failed[1].strip() if failed else str(error)[:90]}"
    return "right" if torch.allclose(result, f(*args)) else "wrong, without a word"


def saved(path, x):
    compiled = torch.compile(f, fullgraph=True).aot_compile(((x, 3), {}))
    compiled.save_compiled_function(path)
    refused = said(torch.compile(breaks).aot_compile, ((x,), {}))
    return said(compiled, x, 3), refused


def loaded(path, x):
    """Calls of the loaded function, what was compiled for them, and what it consists of."""
    global scale
    counters.clear()
    with open(path, "rb") as file:
        function = torch.compiler.load_compiled_function(file)
    calls = {"what it was compiled for": said(function, x, 3)}
    work = counters["stats"]["unique_graphs"], len(compilation_time_metrics.get("compile_file", ()))
    calls["another number"] = said(function, x, 4)
    calls["another size"] = said(function, x[1:], 3)
    calls["another dtype"] = said(function, x.double(), 3)
    scale = 3.0
    calls["another value of the global"] = said(function, x, 3)
    parts = {name: type(part).__name__ for name, part in vars(function._artifacts).items()}
    return work, calls, parts


with tempfile.TemporaryDirectory() as folder:
    x, path = torch.randn(8, 16), Path(folder, "f.bin")
    first, refused = in_a_process(saved, f"{folder}/one", path, x)
    work, calls, parts = in_a_process(loaded, f"{folder}/other", path, x)
    size = path.stat().st_size
tclab.show(tclab.Table(
    title="Calls of the loaded function", name="calls", columns=("call with", "what happens"),
    rows=list(calls.items()),
))  # fmt: skip
tclab.show(tclab.Table(
    title="What the file holds", name="parts", columns=("part", "a"),
    rows=[*parts.items(), ("bytes in all", size)],
))  # fmt: skip
tclab.show(refused, title="Asked of a function that breaks", name="refused")

# claim: loaded-nothing-is-traced
assert work[0] == 0 and first == calls["what it was compiled for"] == "right"
# claim: on-a-cpu-the-compiler-runs-again
assert work[1] > 0
# claim: its-guards-are-in-the-file
assert "guards_state" in parts and all(
    calls[name].startswith("RuntimeError")
    for name in ("another number", "another size", "another dtype")
)
# claim: not-that-of-a-global
assert calls["another value of the global"] == "wrong, without a word"
# claim: no-break-is-taken
assert refused.startswith("RuntimeError: Graph breaks are not supported")
# claim: the-code-and-the-machine-are-in-it
assert {"compiled_fn", "original_code", "system_info"} <= parts.keys()
