"""Beliefs about caches: what another process still does, and what is kept at all."""
# tclab: needs=cxx timeout=240

import io
import tempfile

import torch
from _beliefs import DOES_NOT, Beliefs, count
from _process import in_a_process
from torch._dynamo import pgo
from torch._dynamo.utils import compilation_time_metrics, counters

beliefs = Beliefs("Caches")


def f(x):
    return torch.relu(x).sum(-1)


def compiled(x, artifacts=None):
    """Saved artifacts; graphs traced, hits, and runs of the C++ compiler in one call."""
    if artifacts:
        torch.compiler.load_cache_artifacts(artifacts)
    torch.testing.assert_close(torch.compile(f)(x), f(x))
    traced = counters["stats"]["unique_graphs"]
    hits = counters["inductor"]["fxgraph_cache_hit"]
    runs = len(compilation_time_metrics.get("compile_file", ()))
    return torch.compiler.save_cache_artifacts()[0], (traced, hits, runs)


with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
    x = torch.linspace(-1, 1, 4096).reshape(64, 64)
    artifacts, first = in_a_process(compiled, one, x)
    _, second = in_a_process(compiled, one, x)
    _, loaded = in_a_process(compiled, other, x, artifacts)
assert first[0] == 1 and first[1] == 0 and first[2] > 0

fresh = beliefs.judge(
    "Each new process compiles everything again",
    {
        "it is Dynamo's part": (second[0] > 0, f"{count(second[0], 'graph')} traced"),
        "it is Inductor's part": (second[1] == 0, count(second[1], "hit")),
    },
)
# claim: dynamo-traces-inductor-hits
assert fresh == "holds only if it is Dynamo's part"


def idle(hits, runs):
    return hits > 0 and runs == 0, f"{count(hits, 'hit')}, {count(runs, 'run')} of the compiler"


hit = beliefs.judge(
    "A cache hit means that no compiler runs",
    {"the folder is there": idle(*second[1:]), "the artifacts were loaded": idle(*loaded[1:])},
)
# claim: loaded-artifacts-compile-cpp
assert hit == "holds only if the folder is there"


def kept(job_id):
    with torch.compiler.config.patch(job_id=job_id):
        key = pgo.get_cache_key()
    return key is not None, "a key" if key else "no key"


profile = beliefs.judge(
    "What varied in one process is remembered for the next",
    {"no option is set": kept(None), "TORCH_COMPILE_JOB_ID names the job": kept("a-job")},
)
# claim: a-job-has-a-name
assert profile == "holds only if TORCH_COMPILE_JOB_ID names the job"


def saved():
    """Whether a model that was compiled, called, saved and loaded again compiles nothing."""
    torch._dynamo.reset()
    file, y = io.BytesIO(), torch.ones(2, 4)
    model = torch.compile(torch.nn.Linear(4, 4), backend="eager")
    model(y)
    torch.save(model, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    torch._dynamo.reset()  # as in a new process
    before = counters["stats"]["unique_graphs"]
    torch.testing.assert_close(again(y), model(y))
    made = counters["stats"]["unique_graphs"] - before
    return made == 0, f"{count(made, 'compile')} after loading"


models = beliefs.judge(
    "`torch.save` of a compiled model keeps what was compiled", {"it is torch.compile(m)": saved()}
)
# claim: code-is-not-saved
assert models == DOES_NOT
beliefs.show()
