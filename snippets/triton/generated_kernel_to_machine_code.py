"""Inductor's softmax kernel, down to the instructions of this GPU.

The same five stages for a kernel that Inductor wrote. Look in the SASS for `MUFU.EX2` (the
exponential), `SHFL` (threads of a warp exchanging partial maxima and sums) and `BAR` (warps
waiting for one another). The files come from Triton's cache, where any compile leaves them.
"""
# tclab: needs=cuda timeout=120

import os
import re
from collections import Counter
from pathlib import Path

import torch
from _launches import relative_error
from _machine_code import stages
from torch._inductor.utils import fresh_cache

import tclab


def f(x):
    return torch.softmax(x, dim=-1)


x = torch.randn(4096, 1000, device="cuda")

with fresh_cache():  # a folder of its own: all that lies in it is from this compile
    c = tclab.capture(f)(x)
    folder = next(Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]).rglob("*.ttgir")).parent
    asm = {path.suffix[1:]: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    asm = {stage: data if stage == "cubin" else data.decode() for stage, data in asm.items()}
    generated = Path(re.search(r'loc\("([^"]+\.py)":', asm["ttir"])[1]).read_text()

assert relative_error(c.result, f(x.double())) < 1e-6
listings = stages(asm, "softmax-kernel")
sass = listings["sass"].code
opcodes = Counter(re.findall(r"^/\*\w+\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Z0-9_]*)", sass, re.MULTILINE))
assert "MUFU.EX2" in sass and opcodes["SHFL"] > 0 and opcodes["LDG"] > 0, opcodes
assert all(listing.links for listing in listings.values())

kernel = tclab.Listing(
    title="The generated kernel", name="python", code=generated, language="python", stage="kernel",
    links={n: (f"py:softmax-kernel:{n}",) for n in range(1, len(generated.splitlines()) + 1)},
)  # fmt: skip
tclab.show([kernel, *listings.values()])
tclab.show(
    tclab.Table(
        title="Instructions of the softmax kernel, most frequent first",
        columns=("opcode", "count"),
        rows=opcodes.most_common(15),
        caption=f"{sum(opcodes.values())} instructions in all",
    ),
    name="opcodes",
)
