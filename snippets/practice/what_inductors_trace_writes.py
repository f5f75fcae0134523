"""Inductor's trace: a folder for each graph, and a line with its name.

A program of its own under TORCH_COMPILE_DEBUG=1, and the same with the option `trace.enabled` and a
drawing asked for.
"""
# tclab: needs=cxx timeout=300

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import tclab

PROGRAM = """
import sys, torch
from torch._inductor import config
if sys.argv[1:]:
    config.trace.enabled = config.trace.graph_diagram = True
config.cpp_cache_precompile_headers = False
def f(x):
    return torch.softmax(torch.relu(x), -1).sum(0)
torch.compile(f)(torch.randn(8, 16))
"""
NO_GRAPHS_KEPT = {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}


def ran(*arguments, **variables):
    """What the program prints, and the files that it leaves, by their path in the folder."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments], cwd=folder, capture_output=True, text=True,
            env=os.environ | variables | NO_GRAPHS_KEPT, check=True,
        )  # fmt: skip
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        named = {re.sub(r"run_\w+-pid_\d+", "run_…", str(p.relative_to(folder))): p for p in files}
        texts = {name: path.read_text(errors="replace") for name, path in named.items()}
        said = [line for line in run.stderr.splitlines() if "torch/_inductor/" in line]
        lines = [line.split("] ", 2)[-1] for line in said]
        lines = [
            re.sub(r"\S+/torch_compile_debug/run_\w+-pid_\d+", "…/run_…", line) for line in lines
        ]
        return run.stdout, lines, texts


out, lines, files = ran(TORCH_COMPILE_DEBUG="1")
_, drawn_lines, drawn = ran("drawn")
graph = {Path(name).name: text for name, text in files.items() if "inference" in name}
tclab.show(
    tclab.Table(
        title="What TORCH_COMPILE_DEBUG=1 leaves",
        name="files",
        columns=("file", "lines"),
        rows=[
            (re.sub(r"trace_\w+", "trace_…", name), len(text.splitlines()))
            for name, text in sorted(files.items())
        ],
    )
)
tclab.show("\n".join(lines), title="What it says, on stderr", name="said")
tclab.show("\n".join(drawn_lines), title="With a drawing asked for", name="drawn")
kinds = Counter(Path(name).suffix for name in drawn)

# claim: it-prints-nothing-to-stdout
assert out == "", out
# claim: one-line-says-where
assert len(lines) == 1 and "debug trace: " in lines[0], lines
# claim: the-graph-the-loops-and-the-code
assert {"fx_graph_readable.py", "fx_graph_runnable.py", "fx_graph_transformed.py",
        "ir_pre_fusion.txt", "ir_post_fusion.txt", "output_code.py"} <= graph.keys()  # fmt: skip
# claim: one-of-them-runs-alone
assert (
    "torch.compile" in graph["fx_graph_runnable.py"] or "run_repro" in graph["fx_graph_runnable.py"]
)
# claim: the-option-writes-the-same
assert {Path(name).name for name in drawn if "inference" in name} >= graph.keys() - {
    "inductor_provenance_tracking_node_mappings.json"
}
# claim: a-drawing-needs-graphviz
assert kinds[".svg"] or any("graphviz" in line for line in drawn_lines)
