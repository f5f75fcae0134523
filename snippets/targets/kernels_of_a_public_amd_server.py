"""Kernels that an AMD server published, and those of a target for its GPU: a half-check.

Someone keeps Inductor's and Triton's caches of a server with MI250s in a public repository. Two of
its functions were written again from the graphs in these files and compiled without a GPU, with the
same version of PyTorch, by `python -m benchmarks.amd_public` in a clone. No device was asked.
"""
# tclab: reads=records/amd-public.json

import json
from pathlib import Path

import tclab

here = Path(__file__).resolve().parent
folder = next(f for f in (here, here.parents[1] / "records") if (f / "amd-public.json").exists())
run = json.loads((folder / "amd-public.json").read_text("utf-8"))
kernels, taken = run["kernels"], run["taken"]
SERVERS_OWN = {"triton_meta.device.index", "inductor_meta.backend_hash"}  # which GPU, which Triton


def where(file):
    """The part of a path that tells the files apart: Triton's caches have it in the folder."""
    folder, _, name = file.rpartition("/")
    return f"{(folder.rpartition('/')[2] if '/triton/' in file else name)[:6]}…"


def short(kernel):
    return kernel.removeprefix("triton_poi_fused_")


def differing(kernel):
    return sorted(set(kernel["differs"]) - SERVERS_OWN)


tclab.show(
    tclab.Table(
        title=f"Published kernels of an {run['target'].partition(' (')[0]}, and a target's",
        name="kernels",
        columns=("function", "file there", "triton_poi_fused_…", "its lines",
                 "settings compared", "settings that differ"),
        rows=[
            (k["function"], where(k["file"]), short(k["kernel"]),
             "other" if "lines" in k["differs"] else f"the same {k['lines']}",
             k["compared"], ", ".join(key.rpartition(".")[2] for key in differing(k)) or "none")
            for k in kernels
        ],
    )
)  # fmt: skip
tclab.show(
    tclab.Table(
        title="The configuration that the GPU took, and the target's candidates",
        name="taken",
        columns=("file there", "triton_poi_fused_…", "as compiled there", "candidates here",
                 "one of them"),
        rows=[
            (where(t["file"]), short(t["kernel"]),
             ", ".join(f"{k}={v}" for k, v in t["taken"].items()), t["candidates"],
             "yes" if t["is_candidate"] else "no")
            for t in taken
        ],
    )
)  # fmt: skip

# claim: names-and-lines-are-the-same
assert len(kernels) == 5 and not any({"lines", "inductor_meta.kernel_name"} & k["differs"].keys()
                                     for k in kernels)  # fmt: skip
# claim: one-setting-differs
assert all(differing(k) == ["inductor_meta.dynamic_disable_pipelining"] for k in kernels)
# claim: it-is-not-in-this-version
assert all(k["differs"]["inductor_meta.dynamic_disable_pipelining"][1] == "not there"
           for k in kernels)  # fmt: skip
# claim: what-the-gpu-took-is-a-candidate
assert len(taken) == 4 and all(t["is_candidate"] and t["candidates"] > 1 for t in taken)
# claim: pointwise-only
assert all(k["kernel"].startswith("triton_poi_") for k in kernels)
# claim: an-mi250
assert "MI250 " in run["target"] and run["machine"]["torch"].startswith("2.12.")
