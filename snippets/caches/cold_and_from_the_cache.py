"""The same compile twice: cold, and from the cache, each in a process of its own.

A span is a phase from its begin to its end; what lies below it and within it is a part of it.
"""

import getpass
import os
import tempfile
from pathlib import Path

import torch
from _process import caches_on, in_a_process
from torch._inductor import codecache
from torch._inductor.codecache import code_hash
from torch._inductor.runtime.cache_dir_utils import default_cache_dir

import tclab


def f(x, w):
    return torch.relu(x @ w + 1)


def compiled(x, w):
    with tclab.capture() as c:
        caches_on()
        result = torch.compile(f)(x, w)
    return c.times, c.timeline, (result - f(x, w)).abs().max().item()


def upgraded(x, w):
    """As `compiled`, of a PyTorch whose sources have another hash."""
    codecache.torch_key = lambda: b"the hash of another version"
    return compiled(x, w)[0]


def captured(x, w):
    with tclab.capture() as c:  # no graph is looked up; code may be found
        torch.compile(f)(x, w)
    return c.times


KINDS = {
    "aotautograd": "AOTAutograd's graphs and what belongs to them",
    "fxgraph": "what Inductor made of a graph",
    ".py": "the wrapper that calls the kernels",
    ".cpp": "C++ source of kernels, and probes for what this CPU can",
    ".so": "the same, compiled",
    ".lock": "so that two processes do not compile the same",
}


def kind(path):
    top = path.parts[0]
    return top if top in KINDS else path.suffix


with tempfile.TemporaryDirectory() as folder:
    args = torch.randn(64, 64), torch.randn(64, 64)
    cold, first_timeline, off = in_a_process(compiled, folder, *args)
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    kinds = [(kind(path.relative_to(folder)), path.stat().st_size) for path in files]
    wrappers = {path: path.read_text() for path in files if kind(path.relative_to(folder)) == ".py"}
    again, second_timeline, off_again = in_a_process(compiled, folder, *args)
    new = len([path for path in Path(folder).rglob("*") if path.is_file()]) - len(files)
    no_graphs = {row[0] for row in in_a_process(captured, folder, *args).rows}
    after_an_upgrade = {row[0] for row in in_a_process(upgraded, folder, *args).rows}

tclab.show(
    tclab.Table(
        title="The folder after one compile",
        name="folder",
        columns=("kind", "files", "size", "what it is"),
        units=("", "", "KiB", ""),
        formats=("", "d", ".1f", ""),
        rows=[
            (name, len(sizes), sum(sizes) / 1024, what)
            for name, what in KINDS.items()
            if (sizes := [size for which, size in kinds if which == name])
        ],
    )
)
tclab.show(first_timeline, title="A cold compile", name="cold")
tclab.show(second_timeline, title="The same from the cache", name="again")
phases = {row[0]: row[1:] for row in cold.rows}
hit = {row[0]: row[1:] for row in again.rows}
names = [name for name in dict.fromkeys([*phases, *hit]) if name != "Total"]
tclab.show(
    tclab.Table(
        title="Seconds by phase",
        name="phases",
        columns=("phase", "cold", "from the cache"),
        units=("", "s", "s"),
        formats=("", ".2f", ".2f"),
        rows=[
            (name, *(by[name][1] if name in by else None for by in (phases, hit)))
            for name in [*names, "Total"]
        ],
    )
)

# claim: graphs-and-compiled-objects-are-kept
assert {"aotautograd", "fxgraph", ".py", ".cpp", ".so"} <= {name for name, _ in kinds}
# claim: by-default-in-the-temporary-folder
assert default_cache_dir() == os.path.join(
    tempfile.gettempdir(), f"torchinductor_{getpass.getuser()}"
)
# claim: code-lies-under-its-hash
assert wrappers and all(path.stem == code_hash(text.strip()) for path, text in wrappers.items())
# claim: code-is-found-without-its-graph
assert "Inductor: code generation" in no_graphs and "C++ compiler" not in no_graphs
# claim: cold-runs-the-compiler
assert phases["C++ compiler"][0] >= 1
# claim: a-hit-runs-no-compiler
assert "C++ compiler" not in hit and "Inductor: code generation" not in hit
# claim: nor-lowering-nor-the-scheduler
assert not {"Inductor: lowering", "Inductor: scheduling and fusion"} & hit.keys()
# claim: dynamo-still-traces
assert hit["Dynamo: tracing bytecode"][0] == phases["Dynamo: tracing bytecode"][0] == 1
# claim: guards-are-built-again
assert hit["Dynamo: building guards"][0] == 1
# claim: sources-are-hashed
assert hit["Hashing PyTorch's sources, once a process"][0] == 1
# claim: with-other-sources-nothing-hits
assert {"Inductor: lowering", "Inductor: code generation"} <= after_an_upgrade
# claim: but-equal-code-is-found
assert "Inductor: code generation" in after_an_upgrade and "C++ compiler" not in after_an_upgrade
# claim: a-hit-writes-nothing
assert new == 0
# claim: cold-takes-longer
assert phases["Total"][1] > hit["Total"][1]
# claim: both-are-right
assert "Dynamo: building guards" in phases.keys() & hit.keys() and max(off, off_again) < 1e-4
