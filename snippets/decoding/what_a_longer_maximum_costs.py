"""What attention is given of a static cache: all of it, or no more than a bucket has.

A decode step of two layers is called at places 20 to 70. Shapes are those of the keys at the
attention call of AOTAutograd's graph, and bytes those of keys and values in both layers; the
results are compared with a cache that holds the text and nothing else.
"""
# tclab: timeout=120

import torch
from _model import Decoder, Static
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.utils import counters

import tclab


class Bucketed(Static):
    """Writes as `Static` does; attention gets the first `bucket` places."""

    bucket = 32

    def update(self, keys, values, positions):
        keys, values = super().update(keys, values, positions)
        return keys[:, :, : self.bucket], values[:, :, : self.bucket]


def keys_of_attention(graph, inputs):
    """The backend: runs the graph as it is, and notes what attention is given."""
    calls = [n for n in graph.graph.nodes if "scaled_dot_product" in str(n.target)]
    seen.append([tuple(node.args[1].meta["val"].shape) for node in calls])
    return graph


def decode(caches, bucketed=False):
    """Call for places 20 to 70; the attention calls compiled, and how far off the logits were."""
    torch._dynamo.reset()
    counters.clear()
    seen.clear()
    step = torch.compile(model, backend=aot_autograd(fw_compiler=keys_of_attention), dynamic=False)
    model(text[:, :20], torch.arange(20), caches)
    for n in range(20, 70):
        for cache in caches if bucketed else ():
            cache.bucket = 32 * (n // 32 + 1)
        logits = step(text.view(-1, 1, 1)[n], torch.tensor([n]), caches)
    return list(seen), (logits - exact).abs().max().item()


seen = []
torch.manual_seed(0)
torch.set_grad_enabled(False)
model = Decoder().eval()
text = torch.randint(0, 128, (1, 70))
exact = model(text, torch.arange(70), model.caches())
rows, off = [], []
for name, caches in {
    "maximum of 128": model.caches(length=128),
    "maximum of 4,096": model.caches(length=4096),
    "maximum of 4,096, in buckets of 32":
        [Bucketed(1, model.heads, model.size, text.float(), 4096) for _ in model.layers],
}.items():  # fmt: skip
    graphs, error = decode(caches, bucketed=name.endswith("32"))
    off.append(error)
    places = [keys[0][2] for keys in graphs]
    read = [2 * 4 * sum(torch.Size(shape).numel() for shape in keys) for keys in graphs]
    rows.append((name, len(graphs), ", ".join(map(str, places)), max(read)))
tclab.show(tclab.Table(
    title="Fifty tokens, from place 20", name="read",
    columns=("cache", "compiles", "places attention is given", "most bytes a token"),
    formats=("", "d", "", "d"), rows=rows,
))  # fmt: skip

# claim: attention-gets-the-maximum
assert [row[2] for row in rows[:2]] == ["128", "4096"], rows
# claim: so-a-longer-maximum-is-more-to-read
assert rows[1][3] == 32 * rows[0][3], rows
# claim: in-buckets-there-is-a-graph-for-each
assert rows[2][1] == 3 and rows[2][2] == "32, 64, 96", rows
# claim: and-less-is-read
assert rows[2][3] < rows[0][3], rows
# claim: all-are-right
assert max(off) < 1e-4, off
