"""Cache artifacts of a GPU: what they hold, what they save, and what is in their key.

One process compiles and saves. Each of the others has an empty folder, one at the same path, the
rest elsewhere, and loads the artifacts; some find another GPU's name or Triton in the key.
"""
# tclab: needs=cuda,triton timeout=240

import json
import os
import pickle
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path, PurePath

import torch
from _process import in_a_process
from torch._dynamo.utils import counters
from torch._inductor.codecache import CacheBase
from torch._inductor.runtime.cache_dir_utils import cache_dir
from torch.compiler._cache import CacheArtifactManager

import tclab


def f(x):
    return torch.relu(x).sum(0) + 1


def compiled(artifacts=None, told=None):
    """What was saved after one call, what it holds, the key's view of the machine, what ran."""
    import triton
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    os.environ["TRITON_CACHE_DIR"] = os.path.join(cache_dir(), "triton")
    system, ran = CacheBase.get_system(), Counter()
    if told:
        changed = json.loads(json.dumps(system)) | {"hash": str(told)}
        changed[told[0]][told[1]] = "another"
        CacheBase.get_system = staticmethod(lambda: changed)

    def counting(owner, name):
        real = getattr(owner, name)
        setattr(owner, name, lambda *a, **k: (ran.update([name]), real(*a, **k))[1])

    counting(triton.compiler.ASTSource, "make_ir")
    counting(CachingAutotuner, "bench")
    torch._inductor.config.compile_threads = 1  # so that all of it happens in this process
    if artifacts:
        torch.compiler.load_cache_artifacts(artifacts)
    torch.manual_seed(0)
    x = torch.randn(4096, 512, device="cuda")
    start = time.perf_counter()
    result = torch.compile(f, options={"max_autotune": True})(x)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    torch.testing.assert_close(result, f(x), rtol=1e-3, atol=1e-2)
    saved, info = torch.compiler.save_cache_artifacts()
    hits = counters["aot_autograd"]["autograd_cache_hit"], counters["inductor"]["fxgraph_cache_hit"]
    kinds = {kind: len(keys) for kind, keys in info.artifacts.items()}
    capability = 10 * torch.cuda.get_device_capability()[0] + torch.cuda.get_device_capability()[1]
    return saved, kinds, (*hits, ran["make_ir"], ran["bench"], seconds), system, capability


def opened(artifacts):
    """Files of Triton's in the graph cache's entries: how many of a kind, bytes, and targets."""
    files, targets = {}, set()
    for entry in CacheArtifactManager.deserialize(artifacts)["inductor"]:
        for kernel in pickle.loads(entry.content)._triton_bundle.kernel_artifacts:
            for file in kernel.artifacts:
                kind = PurePath(file.filename).suffix
                count, size = files.get(kind, (0, 0))
                files[kind] = count + 1, size + len(file.payload)
                if kind == ".json" and b'"target"' in file.payload:
                    targets.add(json.loads(file.payload)["target"]["arch"])
    return files, targets


def started(path, artifacts=None, told=None):
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return in_a_process(compiled, str(path), artifacts, told)


with tempfile.TemporaryDirectory() as parent:
    here, there = Path(parent, "here"), Path(parent, "there")
    artifacts, kinds, first, system, capability = started(here)
    met = {"an empty folder": first, "the artifacts": started(here, artifacts)[2]}
    shutil.rmtree(here)
    met["the artifacts, another path"] = started(there, artifacts)[2]
    for told, name in ((("device", "name"), "GPU's name"), (("version", "triton"), "Triton")):
        met[f"the artifacts, another {name}"] = started(there, artifacts, told)[2]
files, targets = opened(artifacts)

columns = {"process with": "", "hits, AOTAutograd": "d", "hits, Inductor": "d"}
columns |= {"compiles by Triton": "d", "kernels timed": "d", "first call": ".2f"}
tclab.show(tclab.Table(
    title="Processes", name="processes", columns=tuple(columns), formats=tuple(columns.values()),
    units=("", "", "", "", "", "s"), rows=[(name, *row) for name, row in met.items()],
))  # fmt: skip
tclab.show(tclab.Table(
    title="What was saved", name="saved", columns=("what", "how many", "bytes"),
    rows=[*((f"entries, {kind}", count, "") for kind, count in kinds.items()),
          *((f"in Inductor's: {kind}", *row) for kind, row in sorted(files.items())),
          ("in all", "", len(artifacts))],
))  # fmt: skip
tclab.show(json.dumps(system, indent=2), title="The machine, as the key has it", name="system")
_, loaded, elsewhere, other_gpu, other_triton = met.values()

# claim: machine-code-is-in-it
assert files[".cubin"][0] > 0 and targets == {capability}
# claim: so-are-timings
assert kinds["autotune"] >= 1
# claim: loaded-nothing-is-compiled-or-timed
assert loaded[:2] == (1, 1) and not any(loaded[2:4]) and first[2] > 0 < first[3], met
# claim: another-path-hits
assert elsewhere[:2] == (1, 1) and elsewhere[2] == 0, met
# claim: but-is-timed-anew
assert elsewhere[3] == first[3], met
# claim: another-gpu-misses
assert other_gpu[:2] == (0, 0) and other_gpu[2] >= 1
# claim: another-triton-misses
assert other_triton[:2] == (0, 0) and other_triton[2] >= 1
# claim: no-driver-in-the-key
assert set(system) == {"device", "version", "hash"} and set(system["device"]) == {"name"}
assert set(system["version"]) == {"triton", "cuda"}
