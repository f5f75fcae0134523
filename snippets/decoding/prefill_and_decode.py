"""Prompts of three lengths, each with five tokens after it: the graphs this takes.

The cache is static, and the backend is `aot_eager`: only Dynamo's compiles are counted, after each
prompt with its tokens. The ways differ in what the call is given.
"""
# tclab: timeout=120

import torch
from _model import Decoder
from torch._dynamo.utils import counters
from torch.nn.functional import pad

import tclab

LENGTH, BUCKET, PROMPTS = 64, 16, (7, 9, 12)


def as_it_comes(forward, text, prompt):
    yield forward(text[:, :prompt].clone(), torch.arange(prompt), caches)
    for n in range(prompt, prompt + 5):
        token = torch.full((1, 1), int(text[0, n]))
        yield forward(token, torch.tensor([n]), caches)


def a_slice_first(forward, text, prompt):
    """The first token after the prompt is a slice of the text, with the text's stride."""
    yield forward(text[:, :prompt].clone(), torch.arange(prompt), caches)
    yield forward(text[:, prompt : prompt + 1], torch.tensor([prompt]), caches)
    for n in range(prompt + 1, prompt + 5):
        yield forward(torch.full((1, 1), int(text[0, n])), torch.tensor([n]), caches)


def padded(forward, text, prompt):
    """What stands behind the prompt is written into the cache, and later written over."""
    forward(pad(text[:, :prompt], (0, BUCKET - prompt)), torch.arange(BUCKET), caches)
    for n in range(prompt - 1, prompt + 5):
        yield forward(torch.full((1, 1), int(text[0, n])), torch.tensor([n]), caches)


def a_number(forward, text, prompt):
    """The position as a number: the tensor is made inside."""
    yield forward(text[:, :prompt].clone(), 0, caches)
    for n in range(prompt, prompt + 5):
        yield forward(torch.full((1, 1), int(text[0, n])), n, caches)


def from_a_number(tokens, position, caches):
    return model(tokens, torch.arange(position, position + tokens.shape[1]), caches)


torch.manual_seed(0)
torch.set_grad_enabled(False)
model = Decoder().eval()
text = torch.randint(0, 128, (1, 32))
compiles, off = {}, []
for way in (as_it_comes, a_slice_first, padded, a_number):
    torch._dynamo.reset()
    counters.clear()
    fn = from_a_number if way is a_number else model
    forward = torch.compile(fn, backend="aot_eager")
    compiles[way] = []
    for prompt in PROMPTS:
        caches = model.caches(length=LENGTH)
        *_, logits = way(forward, text, prompt)
        compiles[way].append(counters["stats"]["unique_graphs"])
        exact = model(text[:, : prompt + 5], torch.arange(prompt + 5), model.caches())
        off.append((logits - exact).abs().max().item())
tclab.show(tclab.Table(
    title="Prompts of 7, 9 and 12, five tokens after each", name="graphs",
    columns=("way", "after the first", "after the second", "after the third"),
    formats=("", "d", "d", "d"),
    rows=[(way.__name__.replace("_", " "), *counts) for way, counts in compiles.items()],
))  # fmt: skip

# claim: prompt-and-token-are-two-graphs
assert compiles[as_it_comes][0] == 2, compiles
# claim: a-second-length-brings-a-third
assert compiles[as_it_comes][1:] == [3, 3], compiles
# claim: padded-two-are-enough
assert compiles[padded] == [2, 2, 2], compiles
# claim: a-slice-has-another-stride
assert compiles[a_slice_first][0] == 3, compiles
# claim: a-number-compiles-no-more-often
assert compiles[a_number] == compiles[as_it_comes], compiles
# claim: all-are-right
assert max(off) < 1e-4, off
