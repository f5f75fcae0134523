"""The next token drawn inside the compiled function, for an H200: three ways.

From logits of 32,000 numbers: the largest; one of the 50 largest by `torch.multinomial`; and the
same by a race, where each candidate waits for an exponential time and the first one is taken. On
the CPU the race is held to the probabilities, over 40,000 draws.
"""
# tclab: needs=triton timeout=240

import torch

import tclab

TOP, HEAT = 50, 0.8


def largest(logits):
    return logits.argmax(-1, keepdim=True)


def probabilities(logits):
    best, index = torch.topk(logits / HEAT, TOP)
    return best.softmax(-1), index


def multinomial(logits):
    p, index = probabilities(logits)
    return index.gather(-1, torch.multinomial(p, 1))


def race(logits):
    p, index = probabilities(logits)
    wait = torch.empty_like(p).exponential_(1)
    return index.gather(-1, (p / wait).argmax(-1, keepdim=True))


torch.manual_seed(0)
torch.set_grad_enabled(False)
logits = torch.randn(1, 32000)
captures = {fn: tclab.capture(fn, target="h200")(logits) for fn in (largest, multinomial, race)}
kinds = {fn: [(k.kernel_name, k.category == "extern") for k in c.kernels]
         for fn, c in captures.items()}  # fmt: skip
tclab.show(tclab.Table(
    title="A token out of the logits, on an H200", name="ways",
    columns=("way", "graphs", "kernels", "library calls", "of them"),
    formats=("", "d", "d", "d", ""),
    rows=[(fn.__name__, len(c.graphs), sum(not own for _, own in kinds[fn]),
           sum(own for _, own in kinds[fn]), ", ".join(name for name, own in kinds[fn] if own))
          for fn, c in captures.items()],
))  # fmt: skip

tclab.show(captures[race].kernels[-1], name="kernel")
few = torch.randn(1, TOP)
draws = torch.compile(race, backend="aot_eager")(few.expand(40000, TOP))
share = torch.bincount(draws.flatten(), minlength=TOP) / len(draws)
off = (share - (few[0] / HEAT).softmax(-1)).abs().max().item()

last = captures[race].kernels[-1]
# claim: each-is-one-graph
assert all(len(c.graphs) == 1 for c in captures.values())
# claim: the-largest-is-one-kernel
assert [own for _, own in kinds[largest]] == [False], kinds
# claim: multinomial-is-a-library-call
assert any("multinomial" in name and own for name, own in kinds[multinomial]), kinds
# claim: the-race-ends-in-one-kernel
assert sum(own for _, own in kinds[race]) == 1 and len(kinds[race]) == 3, kinds
assert all(word in last.kernel_name for word in ("softmax", "exponential", "argmax", "gather"))
# claim: the-race-draws-by-the-probabilities
assert off < 0.015, off
