"""The order of products and collectives in Inductor's code, by default and with three settings.

A process group of the kind `fake`, which sends nothing, on a CPU. `wait` is the point where the
code waits for what a collective brings; `cat` stands for the kernels that put tensors together.
"""

import re

import torch
import torch._inductor.config as inductor
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.testing._internal.distributed.fake_pg import FakeStore

import tclab

dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
ALL, LAYERS = dist.group.WORLD, 3
halves = [torch.randn(32, 64) for _ in range(LAYERS)]
weights = [torch.randn(64, 64) for _ in range(LAYERS)]


def gathers(x):
    full = [functional.all_gather_tensor(half, 0, ALL) for half in halves]
    for weight in full:
        x = x @ weight
    return x


def reduces(x):
    partial = []
    for weight in weights:
        partial.append(x @ weight)
        dist.all_reduce(partial[-1])
    return partial


NAMES = {"all_gather_into_tensor": "gather", "all_gather_into_tensor_out": "gather",
         "all_reduce_": "reduce", "wait_tensor": "wait", "mm": "mm", "cpp": "cat"}  # fmt: skip
CALL = r"^[^#\n]*?(?:_c10d_functional\.(\w+)\.\w+\(|extern_kernels\.(mm)\(|^ +(cpp)_fused\w*\()"


def order(fn, **settings):
    """What the generated code calls, in order, without kernels that follow one another."""
    torch._dynamo.reset()
    with inductor.patch(settings), tclab.capture() as c:
        torch.compile(fn, fullgraph=True)(torch.randn(8, 64))
    code = c.wrapper[0].code
    body = code[code.index("def call(") : code.index("def benchmark_compiled_module")]
    calls = [NAMES[next(filter(None, found))] for found in re.findall(CALL, body, re.M)]
    return [name for i, name in enumerate(calls) if name != "cat" or calls[i - 1 : i] != ["cat"]]


BUCKETS = {"bucket_all_gathers_fx": "all", "bucket_all_reduces_fx": "all"}
WAYS = {"by default": {}, "reorder_for_peak_memory=False": {"reorder_for_peak_memory": False},
        "bucket_…_fx='all'": BUCKETS}  # fmt: skip
found = {(fn, way): order(fn, **settings) for fn in (gathers, reduces)
         for way, settings in WAYS.items() if (fn, way) != (reduces, list(WAYS)[1])}  # fmt: skip
rows = [(fn.__name__, way, " ".join(calls)) for (fn, way), calls in found.items()]
tclab.show(tclab.Table("Inductor's code", "order", ("function", "setting", "its calls"), rows))
late, early, bucket, sums, sums_in_one = found.values()


def before(calls, name):
    """How many gathers have begun before the first `name`."""
    return calls[: calls.index(name)].count("gather")


# claim: by-default-one-gather-at-a-time
assert before(late, "mm") == 1 and late.count("gather") == late.count("mm") == LAYERS
# claim: without-the-reordering-they-start-first
assert before(early, "wait") == before(early, "mm") == LAYERS
# claim: buckets-are-off
assert inductor.bucket_all_gathers_fx == inductor.bucket_all_reduces_fx == "none"
# claim: a-bucket-is-one-gather
assert bucket.count("gather") == bucket.count("wait") == 1 and bucket.count("mm") == LAYERS
# claim: sums-go-out-while-the-next-product-runs
assert [name for name in sums if name != "cat"] == ["mm", "reduce"] * LAYERS + ["wait"] * LAYERS
# claim: in-a-bucket-they-leave-after-the-last-product
assert sums_in_one.count("reduce") == 1
assert sums_in_one.index("reduce") > max(i for i, name in enumerate(sums_in_one) if name == "mm")
# claim: overlap-scheduling-is-off
assert not inductor.aten_distributed_optimizations.enable_overlap_scheduling
