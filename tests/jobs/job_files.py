"""Programs that are run as jobs for these tests, in processes of their own with TORCH_TRACE set."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

#: PyTorch's variables for the caches of graphs.
CACHES = ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE")
SRC = Path(__file__).resolve().parents[2] / "src"

#: A job that is captured where its argument says so; what the capture read is then written to that
#: file. It has a break, recompiles for a size and for a number, sizes that are symbols, a backward,
#: two functions and fused C++ kernels.
CAPTURED = """
    import json, sys
    import torch

    def scale(x, factor):
        y = torch.relu(x) * factor
        print("scaled")
        return (y.sin() + 1).sum(-1)

    def score(x, w):
        return (torch.softmax(x @ w, -1) * x.size(0)).square().mean()

    def run():
        compiled = torch.compile(scale)
        compiled(torch.ones(4, 8), 2)
        compiled(torch.ones(6, 8), 2)
        compiled(torch.ones(6, 8), 3.5)
        w = torch.ones(8, 8, requires_grad=True)
        for rows in (16, 24):
            torch.compile(score, dynamic=True)(torch.ones(rows, 8), w).backward()

    if len(sys.argv) == 1:
        run()
        sys.exit()

    from tclab.capturing import capture
    from tclab.compare.identity import take_snapshot
    from tclab.model import encode
    from tclab.system import machine

    with capture() as captured:
        run()
    names = ("breaks", "recompiles", "guards", "graphs", "joint", "forward", "backward",
             "post_grad", "kernels", "symbols", "compile_time")
    seen = {name: encode(getattr(captured, name)) for name in names}
    seen["snapshot"] = encode(take_snapshot(captured, machine.here()))
    json.dump(seen, open(sys.argv[1], "w"))
"""

#: A job without a capture, whose caches are on: one of its settings is the argument.
CACHED = """
    import sys
    import torch
    import torch._inductor.config as config

    config.epilogue_fusion = sys.argv[1] == "yes"

    def wave(x):
        return torch.sin(x) * 2

    torch.compile(wave)(torch.ones(8))
"""

#: A job without a generated kernel. A second one has the same graph at another line of a function
#: with another name.
PRODUCT = """
    import torch

    def product(x, w):
        return torch.mm(x, w)

    torch.compile(product)(torch.ones(4, 4), torch.ones(4, 4))
"""

#: Two ranks; the second compiles another size once.
RANKS = """
    import os
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo")

    def double(x):
        return x * 2

    compiled = torch.compile(double, backend="eager")
    for size in (4, 5 if rank else 4):
        compiled(torch.ones(size))
    dist.destroy_process_group()
"""


def start(folder: Path, code: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Start a program in `folder`. Its trace is written to the folder ``trace`` there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.py").write_text(textwrap.dedent(code), encoding="utf-8")
    trace = folder / variables.pop("trace", "trace")
    return subprocess.Popen(
        [sys.executable, "job.py", *arguments],
        cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(SRC), "TORCH_TRACE": str(trace), **variables},
    )  # fmt: skip


def run(folder: Path, code: str, *arguments: str, **variables: str) -> Path:
    """Run a program in `folder`, and return the folder of its trace."""
    trace = folder / variables.get("trace", "trace")
    with start(folder, code, *arguments, **variables) as job:
        _, errors = job.communicate(timeout=300)
    assert job.returncode == 0, errors
    return trace
