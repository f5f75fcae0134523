"""One token after another on a GPU, beside the time that its bytes need.

Random weights in bfloat16, batch 1, greedy. The roof is the bytes of weights and cache that a token
reads, over the bandwidth of a copy on this card. Each way first has to come near the logits of
float32. Seconds are medians over stretches of tokens, in turns; nothing is copied to the CPU.
"""
# tclab: needs=cuda,triton alone=true timeout=400 memory=49152

import copy
import statistics
import time

import torch
from _model import Decoder
from torch._dynamo.utils import counters

import tclab

PROMPT, LENGTH, TOKENS = 64, 1024, 100


def step(token, position, caches):
    """The next token, where it stands, and the logits: the CPU looks at none of them."""
    logits = model(token, position, caches)
    return logits.argmax(-1, keepdim=True), position + 1, logits


def from_a_number(token, position, caches):
    """The same, with the position as a number of Python's."""
    token, _, logits = step(token, torch.full((1,), position, device="cuda"), caches)
    return token, position + 1, logits


def filled(decoder, length, fixed=True):
    """Caches with the prompt in them, at addresses that do not change."""
    caches = decoder.caches(length=length)
    if fixed and length is not None:
        for cache in caches:
            torch._dynamo.mark_static_address(cache.keys)
            torch._dynamo.mark_static_address(cache.values)
    decoder(text[:, :PROMPT], torch.arange(PROMPT, device="cuda"), caches)
    return caches


def error(way, where, caches):
    """Of the logits, after eight tokens of a given text: enough calls for a recording."""
    for n in range(PROMPT, PROMPT + 8):
        torch.compiler.cudagraph_mark_step_begin()
        logits = way(text.view(-1, 1, 1)[n], where(n), caches)[-1]
    return ((logits.float() - exact).norm() / exact.norm()).item()


def seconds(way, where, caches):
    """Of a token: each is what the call before made of the one before it."""
    token, position = text.view(-1, 1, 1)[0], where(PROMPT)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(TOKENS):
        torch.compiler.cudagraph_mark_step_begin()
        token, position, _ = way(token, position, caches)
        token, position = token + 0, position + 0  # a replay would overwrite them
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / TOKENS


def copied(numbers=2**29):
    """Bytes a second of a copy, read and written."""
    source = torch.empty(numbers, dtype=torch.bfloat16, device="cuda")
    sink, taken = torch.empty_like(source), []
    for _ in range(10):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        sink.copy_(source)
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end) / 1e3)
    return 2 * source.nbytes / min(taken)


torch.manual_seed(0)
torch.set_grad_enabled(False)
model = Decoder(layers=12, width=2048, heads=16, vocabulary=32000).cuda().bfloat16().eval()
text = torch.randint(0, 32000, (1, 2 * PROMPT), device="cuda")
double = copy.deepcopy(model).float()
exact = double(text[:, : PROMPT + 8], torch.arange(PROMPT + 8, device="cuda"), double.caches())
del double
caches = filled(model, LENGTH)
read = sum(p.nbytes for p in (*model.layers.parameters(), model.head.weight))
held = sum(cache.keys.nbytes + cache.values.nbytes for cache in caches)
roof = (read + held) / copied()

fast = {"mode": "reduce-overhead"}
WAYS = {"eager, growing cache": (None, None, True), "eager, static cache": (None, LENGTH, True),
        "compiled, growing cache": ({}, None, True), "compiled, static cache": ({}, LENGTH, True),
        "reduce-overhead, cache not marked": (fast, LENGTH, False),
        "reduce-overhead, position a number": (fast, LENGTH, True),
        "reduce-overhead, cache marked": (fast, LENGTH, True)}  # fmt: skip
ways, off, skips = {}, {}, {}
for name, (options, length, fixed) in WAYS.items():
    torch._dynamo.reset()
    counters.clear()
    number = name.endswith("a number")
    where = int if number else lambda n: torch.tensor([n], device="cuda")
    way = from_a_number if number else step
    way = way if options is None else torch.compile(way, **options)
    caches = filled(model, length, fixed)
    off[name] = error(way, where, caches)
    once = number or length is None  # what is kept of one stretch would change the next
    caches = filled(model, length) if length is None else caches
    taken = [seconds(way, where, caches) for _ in range(1 if once else 5)]
    ways[name], skips[name] = statistics.median(taken), counters["inductor"]["cudagraph_skips"]
tclab.show(tclab.Table(
    title=f"A token, {read / 1e9:.2f} GB of weights and {held / 1e6:.0f} MB of cache", name="ways",
    columns=("way", "a token", "tokens a second", "of the roof", "graphs skipped", "error"),
    units=("", "ms", "", "%", "", ""), formats=("", ".2f", ".0f", ".0f", "d", ".1e"),
    rows=[*((name, 1e3 * s, 1 / s, 100 * roof / s, skips[name], off[name])
            for name, s in ways.items()), ("roof", 1e3 * roof, 1 / roof, 100, 0, None)],
))  # fmt: skip

best, plain = ways["reduce-overhead, cache marked"], ways["compiled, static cache"]
# claim: all-are-right
assert max(off.values()) < 5e-2, off
# claim: cuda-graphs-gain-most
assert best == min(ways.values()) and best < ways["eager, static cache"] / 2, ways
# claim: without-cuda-graphs-launches-are-the-cost
assert plain > 1.3 * best, ways
# claim: a-cache-that-is-not-marked-is-skipped
assert skips["reduce-overhead, cache not marked"] > 0 == skips["reduce-overhead, cache marked"]
# claim: a-number-is-recorded-for-each-value
assert ways["reduce-overhead, position a number"] > 2 * best, ways
# claim: no-way-is-above-the-roof
assert roof < min(ways.values()), (roof, ways)
