"""Time a function of your own, eager and compiled, and compare both with float64.

Warmed up, in turns, several rounds: what else the machine does then slows both alike. On a GPU,
wait for it before each look at the clock.
"""
# tclab: alone=true timeout=240

import statistics
import time

import torch

import tclab


def mine(x, y):
    for _ in range(6):
        x = torch.tanh(x * y + 1) * torch.sigmoid(x)
    return x


inputs = torch.randn(512, 2048), torch.randn(512, 2048)
compiled = torch.compile(mine)
wait = torch.cuda.synchronize if inputs[0].is_cuda else lambda: None
rounds = []
for fn in (mine, compiled) * 12:
    wait()
    start = time.perf_counter()
    for _ in range(5):
        fn(*inputs)
    wait()
    rounds.append((time.perf_counter() - start) / 5)
ratios = sorted(e / c for e, c in zip(rounds[2::2], rounds[3::2]))  # the first round warms up

exact = mine(*[each.double() for each in inputs])
errors = [(fn(*inputs) - exact).abs().max().item() for fn in (mine, compiled)]
worse = errors[1] > 4 * errors[0]

with torch.profiler.profile() as profile:
    compiled(*inputs)
regions = [event.name for event in profile.events() if event.name.startswith("Torch-Compiled")]

# claim: faster-in-all-rounds-but-one
assert len(ratios) == 11 and ratios[1] > 1, ratios
# claim: the-first-round-has-the-compile
assert rounds[1] > 3 * max(rounds[3::2])
# claim: as-near-to-float64
assert not worse and 0 < errors[0] < 1e-5
# claim: the-profiler-names-the-region
assert len(regions) == 1
# claim: the-command-in-code
assert len(tclab.measure(mine)(*inputs).compiled[0].rounds) == 11

tclab.show(tclab.Table("Is it worth it here?", "worth", ("what", "eager", "compiled"), [
    ("milliseconds, median", *(1e3 * statistics.median(rounds[n::2]) for n in (2, 3))),
    ("milliseconds, the first round", 1e3 * rounds[0], 1e3 * rounds[1]),
    ("largest error, millionths", *(1e6 * each for each in errors)),
], formats=("", ",.2f", ",.2f")))  # fmt: skip
