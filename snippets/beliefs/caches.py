"""Beliefs about caches: what another process still does, and what is kept at all."""
# tclab: needs=cxx timeout=900

import io
import tempfile

import torch
from _beliefs import DOES_NOT, Beliefs, count, transformer_layer
from _process import in_a_process
from torch._dynamo import pgo
from torch._dynamo.utils import compilation_time_metrics, counters

beliefs = Beliefs("Caches")


def f(x):
    return torch.relu(x).sum(-1)


whole = transformer_layer()
layer = torch.nn.Sequential(whole.norm2, whole.linear1, torch.nn.ReLU(), whole.linear2)


@torch.no_grad()
def compiled(f, x, artifacts=None):
    """Saved artifacts; graphs traced, hits, and runs of the C++ compiler in one call."""
    if artifacts:
        torch.compiler.load_cache_artifacts(artifacts)
    torch.testing.assert_close(torch.compile(f)(x), f(x), rtol=1e-4, atol=1e-5)
    traced = counters["stats"]["unique_graphs"]
    hits = counters["inductor"]["fxgraph_cache_hit"]
    runs = len(compilation_time_metrics.get("compile_file", ()))
    return torch.compiler.save_cache_artifacts()[0], (traced, hits, runs)


with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
    x = torch.linspace(-1, 1, 4096).reshape(64, 64)
    artifacts, first = in_a_process(compiled, one, f, x)
    _, second = in_a_process(compiled, one, f, x)
    _, loaded = in_a_process(compiled, other, f, x, artifacts)
    tokens = x.reshape(-1, 8, 16)
    in_a_process(compiled, one, layer, tokens)
    _, again = in_a_process(compiled, one, layer, tokens)
assert first[0] == 1 and first[1] == 0 and first[2] > 0

fresh = beliefs.judge(
    "Each new process compiles everything again",
    {
        "it is Dynamo's part": (second[0] > 0, f"{count(second[0], 'graph')} traced"),
        "it is Inductor's part": (second[1] == 0, count(second[1], "hit")),
        "it is Inductor's part, of a feed-forward": (again[1] == 0, count(again[1], "hit")),
    },
)
# claim: dynamo-traces-inductor-hits
assert fresh == "holds only if it is Dynamo's part"


def idle(hits, runs):
    return hits > 0 and runs == 0, f"{count(hits, 'hit')}, {count(runs, 'run')} of the compiler"


hit = beliefs.judge(
    "A cache hit means that no compiler runs",
    {
        "the folder is there": idle(*second[1:]),
        "the folder is there, of a feed-forward": idle(*again[1:]),
        "the artifacts were loaded": idle(*loaded[1:]),
    },
)
# claim: loaded-artifacts-compile-cpp
assert hit.startswith("holds only if the folder is there or the folder is there, of") and (
    "artifacts" not in hit
)


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


def saved(module, y, in_place=False):
    """Whether a model that was compiled, called, saved and loaded again is compiled already."""
    torch._dynamo.reset()
    file = io.BytesIO()
    model = module if in_place else torch.compile(module, backend="eager")
    if in_place:
        model.compile(backend="eager")
    model(y)
    torch.save(model, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    torch._dynamo.reset()  # as in a new process
    if in_place:
        there = again._compiled_call_impl is not None
        return there, "compiled" if there else "a plain module after loading"
    before = counters["stats"]["unique_graphs"]
    torch.testing.assert_close(again(y), model(y))
    made = counters["stats"]["unique_graphs"] - before
    return made == 0, f"{count(made, 'compile')} after loading"


tokens = torch.ones(2, 4, 16)
models = beliefs.judge(
    "`torch.save` of a compiled model keeps what was compiled",
    {
        "it is torch.compile(m)": saved(torch.nn.Linear(4, 4), torch.ones(2, 4)),
        "m is a transformer layer": saved(transformer_layer(), tokens),
        "it is m.compile()": saved(transformer_layer(), tokens, in_place=True),
    },
)
# claim: code-is-not-saved
assert models == DOES_NOT
beliefs.show()
