"""Twenty tokens with a cache that grows, and with one of fixed length.

The backend is `aot_eager`, so only Dynamo's compiles are counted, after a prompt of seven tokens
and at the end. A cache is copied where its tensor is another one after each token. The logits are
compared with those of one pass over the whole text in float64.
"""
# tclab: timeout=120

import inspect

import torch
from _model import Decoder, Growing, Static
from torch._dynamo.utils import counters

import tclab

PROMPT, TOKENS, LENGTH = 7, 20, 32


def decoded(forward, caches):
    """Logits after the last token, compiles after the prompt and in the end, bytes moved."""
    logits = forward(text[:, :PROMPT], torch.arange(PROMPT), caches)
    compiles, moved = [counters["stats"]["unique_graphs"]], []
    for n in range(PROMPT, PROMPT + TOKENS):
        before = [(c.keys.data_ptr(), c.values.data_ptr()) for c in caches]
        logits = forward(text[:, n : n + 1], torch.tensor([n]), caches)
        moved.append(sum(cache.keys.nbytes + cache.values.nbytes for cache, at in
                         zip(caches, before) if cache.keys.data_ptr() != at[0]))  # fmt: skip
    return logits, (*compiles, counters["stats"]["unique_graphs"]), moved


torch.manual_seed(0)
torch.set_grad_enabled(False)
model = Decoder().eval()
text = torch.randint(0, 128, (1, PROMPT + TOKENS))
double = Decoder().double().eval()
double.load_state_dict(model.state_dict())
exact = double(text, torch.arange(PROMPT + TOKENS), double.caches())
rows, off, last = {}, {}, {}
for name, length, dynamic in (("growing, dynamic=False", None, False), ("growing", None, None),
                              ("static", LENGTH, None)):  # fmt: skip
    torch._dynamo.reset()
    counters.clear()
    forward = torch.compile(model, backend="aot_eager", dynamic=dynamic)
    logits, compiles, moved = decoded(forward, model.caches(length=length))
    off[name] = (logits - exact).abs().max().item()
    rows[name] = (*compiles, moved[0], moved[-1])
both = "\n\n".join(map(inspect.getsource, (Growing, Static)))
tclab.show(tclab.Listing("Two caches", code=both, language="python", name="kinds"))
limit = torch._dynamo.config.recompile_limit
tclab.show(tclab.Table(
    title="A prompt of 7, then 20 tokens", name="caches",
    columns=("cache", "compiles after the prompt", "in the end", "copied at the first token",
             "copied at the last"),
    units=("", "", "", "bytes", "bytes"), formats=("", "d", "d", "d", "d"),
    rows=[(name, *row) for name, row in rows.items()],
))  # fmt: skip

# claim: fixed-sizes-compile-up-to-the-limit
assert rows["growing, dynamic=False"][1] == limit, (rows, limit)
# claim: a-growing-cache-needs-two-compiles
assert rows["growing"][:2] == (1, 2), rows
# claim: so-does-a-static-one
assert rows["static"][:2] == (1, 2), rows
# claim: a-growing-cache-is-copied-at-each-token
assert 0 < rows["growing"][2] < rows["growing"][3], rows
# claim: a-static-one-stays-where-it-is
assert rows["static"][2:] == (0, 0), rows
# claim: all-are-right
assert max(off.values()) < 1e-4, off
