"""einops 0.8.2 in a compiled function: what stands in Dynamo's graph.

Three functions under `fullgraph=True`, each with two more sizes of the batch afterwards. einops is
called as it is imported, without `allow_ops_in_compiled_graph`.
"""
# tclab: needs=packages timeout=120

import einops
import torch
from einops import pack, rearrange, reduce, unpack
from torch._dynamo.testing import EagerAndRecordGraphs

import tclab


def arranged(x):
    return rearrange(x, "b c h w -> b (h w) c").sin()


def reduced(x):
    return reduce(x, "b c h w -> b c", "mean") + 1


def packed(x):
    joined, shapes = pack([x, x[:, :1]], "b * h w")
    first, second = unpack(joined, shapes, "b * h w")
    return first + second


def calls(fn):
    """What the first graph calls, and the graphs after three sizes of the batch."""
    torch._dynamo.reset()
    kept = EagerAndRecordGraphs()
    compiled = torch.compile(fn, backend=kept, fullgraph=True)
    for batch in (2, 4, 6):
        x = torch.rand(batch, 3, 4, 5)
        assert torch.equal(compiled(x), fn(x))
    nodes = [node for node in kept.graphs[0].graph.nodes if node.op.startswith("call")]
    return [getattr(node.target, "__name__", node.target) for node in nodes], len(kept.graphs)


table = {fn.__name__: calls(fn) for fn in (arranged, reduced, packed)}
rows = [(name, ", ".join(names), graphs) for name, (names, graphs) in table.items()]
columns = ("function", "calls in its graph", "graphs for three sizes")
tclab.show(tclab.Table(f"einops {einops.__version__}", "einops", columns, rows))

# claim: one-graph-without-a-break
assert all(graphs == 2 for _, graphs in table.values())  # the second has a size that varies
OWN = {"rearrange", "reduce", "pack", "unpack"}
traced = not any(OWN & set(names) for names, _ in table.values())
# claim: traced-into-plain-operations
assert traced == (tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13))
